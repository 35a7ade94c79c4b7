//! Reads JSON for bodies. Structs that derive `Deserialize` also take an array with their fields in order; here, at any depth,
//! only an object becomes a struct. A `serde_json::Value` takes any JSON.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeOwned, DeserializeSeed, Deserializer, Error, Expected,
    IntoDeserializer as _, MapAccess, SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;

/// Parses a body.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = T::deserialize(Objects(&mut reader))?;
    reader.end()?;
    Ok(value)
}

/// A deserializer, a visitor, a seed, or an access of one: each passes everything on, in this wrapper.
struct Objects<T>(T);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Objects<D> {
    type Error = D::Error;

    // what JSON has is what the type gets, or refuses
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Objects(visitor))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        // mutation: body-array
        self.0.deserialize_map(Objects(visitor))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_option(Objects(visitor))
    }

    // serde_json knows its raw values by this name
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_newtype_struct(name, Objects(visitor))
    }

    // no body has a variant with fields
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        // the text alone, and not an object with the name of the variant
        let text = String::deserialize(self.0)?;
        visitor.visit_enum(text.into_deserializer())
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Objects<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expected = (&self.0 as &dyn Expected).to_string();
        formatter.write_str(match expected.starts_with("struct ") {
            true => "an object",
            false => &expected,
        })
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<V::Value, E> {
        self.0.visit_bool(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        self.0.visit_i64(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        self.0.visit_u64(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        self.0.visit_f64(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<V::Value, E> {
        self.0.visit_str(value)
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<V::Value, E> {
        self.0.visit_borrowed_str(value)
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Objects(deserializer))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Objects(deserializer))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Objects(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Objects(fields))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Objects<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Objects(deserializer))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Objects<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Objects(seed))
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Objects<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Objects(seed))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        a: i64,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Wrapped(Inner);

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Word {
        One,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Outer {
        inner: Option<Inner>,
        list: Vec<Inner>,
        wrapped: Option<Wrapped>,
        word: Option<Word>,
        number: Option<u16>,
        share: Option<f64>,
        text: Option<String>,
        on: Option<bool>,
        any: Value,
        raw: Option<Box<RawValue>>,
    }

    fn read(body: &str) -> serde_json::Result<Outer> {
        from_slice(body.as_bytes())
    }

    #[test]
    fn an_array_is_no_object_at_any_depth() {
        for body in [
            "[]",
            "[null,[],null,null,null,null,null,null,null,null]",
            r#"{"inner":[1]}"#,
            r#"{"list":[[1]]}"#,
            r#"{"list":[{"a":1},[1]]}"#,
            r#"{"wrapped":[1]}"#,
        ] {
            let error = read(body).unwrap_err().to_string();
            assert!(error.contains("invalid type: sequence"), "{body}: {error}");
        }
    }

    #[test]
    fn a_word_is_a_text() {
        for body in [r#"{"word":["one"]}"#, r#"{"word":{"one":null}}"#] {
            let error = read(body).unwrap_err().to_string();
            assert!(error.contains("expected a string"), "{body}: {error}");
        }
    }

    #[test]
    fn everything_else_is_read_as_usual() {
        let body = json!({
            "inner": {"a": -5}, "list": [{"a": 1}, {"a": 2}], "wrapped": {"a": 3}, "word": "one", "number": 7,
            "share": 1, "text": "é", "on": true, "any": [[{"x": [null, 1.5, -1, "t", false]}], []],
        });
        let same = |read: Outer, body: &str| {
            let usual: Outer = serde_json::from_str(body).unwrap();
            assert_eq!(format!("{read:?}"), format!("{usual:?}"));
        };
        for body in
            [&body.to_string(), r#"{"inner":null,"any":null}"#, r#"{"raw": { "b": [1.0] } }"#]
        {
            same(read(body).unwrap(), body);
        }
        for body in [
            "",
            "{",
            "null",
            "5",
            r#"{"number":-1}"#,
            r#"{"number":70000}"#,
            r#"{"number":7.0}"#,
            r#"{"text":5}"#,
            r#"{"word":"two"}"#,
            r#"{"list":{"a":1}}"#,
            r#"{"inner":{"a":1,"b":2}}"#,
            r#"{"inner":{"a":1,"a":2}}"#,
            r#"{"on":true,"on":true}"#,
            r#"{"other":1}"#,
            r#"{} {}"#,
        ] {
            // the column may differ by one
            let said = |error: serde_json::Error| {
                error.to_string().split(" at line").next().unwrap().to_owned()
            };
            let usual = said(serde_json::from_str::<Outer>(body).unwrap_err())
                .replace("struct Outer", "an object");
            assert_eq!(said(read(body).unwrap_err()), usual, "{body}");
        }
    }
}
