//! The part of DynamoDB's expressions that Fanfold uses.

use std::cmp::Ordering;
use std::ops::Bound::{self, Excluded, Included, Unbounded};

use serde_json::{Map, Value, json};

use super::reserved::is_reserved;

pub type Item = Map<String, Value>;
/// Partition key and sort key.
pub type Key = (String, String);

/// The names and values that a request gives for its expressions.
pub struct Given<'a> {
    names: &'a Value,
    values: &'a Value,
}

impl<'a> Given<'a> {
    pub fn of(request: &'a Value) -> Self {
        Self {
            names: &request["ExpressionAttributeNames"],
            values: &request["ExpressionAttributeValues"],
        }
    }

    fn name(&self, text: &str) -> String {
        match text.strip_prefix('#') {
            Some(_) => self.names[text].as_str().expect("the request gives the name").to_owned(),
            None => {
                assert!(!is_reserved(text), "DynamoDB reserves {text}: use a #name");
                text.to_owned()
            }
        }
    }

    fn value<'b>(&'b self, text: &str, item: &'b Item) -> Option<&'b Value> {
        match text.starts_with(':') {
            true => Some(self.values.get(text).unwrap_or_else(|| panic!("no value for {text}"))),
            false => item.get(&self.name(text)),
        }
    }
}

/// Whether a condition, filter or key condition holds for an item. An item that does not exist is empty.
pub fn holds(expression: &str, item: &Item, given: &Given) -> bool {
    words_hold(&words(expression), item, given)
}

/// Whether an expression, given as the result of [`words`], holds for an item.
pub fn words_hold(words: &[String], item: &Item, given: &Given) -> bool {
    let mut rest = words;
    let held = any(&mut rest, item, given);
    assert!(rest.is_empty(), "{words:?}: {rest:?} is not understood");
    held
}

/// The range of keys that a key condition selects (`pk = :a`, or that and one comparison of `sk`), without
/// the keys of earlier pages. None: the range is empty.
pub fn key_range(
    condition: &str,
    given: &Given,
    after: Option<Key>,
    forward: bool,
) -> Option<(Bound<Key>, Bound<Key>)> {
    let words = words(condition);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let text = |name: &str| given.values[name]["S"].as_str().expect("a text").to_owned();
    let ["pk", "=", pk, rest @ ..] = words.as_slice() else {
        panic!("{condition} is not supported")
    };
    let pk = text(pk);
    // a text followed by a zero byte is the next text in the order
    let mut low = Included((pk.clone(), String::new()));
    let mut high = Excluded((format!("{pk}\0"), String::new()));
    match rest {
        [] => {}
        ["AND", "sk", "<", sk] => high = Excluded((pk, text(sk))),
        ["AND", "sk", "<=", sk] => high = Included((pk, text(sk))),
        ["AND", "sk", ">", sk] => low = Excluded((pk, text(sk))),
        ["AND", "sk", ">=", sk] => low = Included((pk, text(sk))),
        ["AND", "sk", "BETWEEN", first, "AND", last] => {
            (low, high) = (Included((pk.clone(), text(first))), Included((pk, text(last))));
        }
        ["AND", "sk", "=", sk] => {
            (low, high) = (Included((pk.clone(), text(sk))), Included((pk, text(sk))));
        }
        _ => panic!("{condition} is not supported"),
    }
    let key = |bound: &Bound<Key>| match bound {
        Included(key) | Excluded(key) => key.clone(),
        Unbounded => unreachable!("both ends have a bound"),
    };
    if let Some(after) = after {
        if forward && after >= key(&low) {
            low = Excluded(after);
        } else if !forward && after < key(&high) {
            high = Excluded(after);
        }
    }
    let empty = match key(&low).cmp(&key(&high)) {
        Ordering::Less => false,
        Ordering::Equal => !matches!((&low, &high), (Included(_), Included(_))),
        Ordering::Greater => true,
    };
    (!empty).then_some((low, high))
}

/// Cuts an expression into words, parentheses and commas.
pub fn words(expression: &str) -> Vec<String> {
    let mut spaced = expression.to_owned();
    for sign in ["(", ")", ","] {
        spaced = spaced.replace(sign, &format!(" {sign} "));
    }
    spaced.split_whitespace().map(str::to_owned).collect()
}

fn take<'a>(rest: &mut &'a [String]) -> &'a str {
    let (first, others) = rest.split_first().expect("another word of the expression");
    *rest = others;
    first
}

fn take_if(rest: &mut &[String], word: &str) -> bool {
    let is = rest.first().is_some_and(|first| first == word);
    if is {
        *rest = &rest[1..];
    }
    is
}

fn any(rest: &mut &[String], item: &Item, given: &Given) -> bool {
    let mut held = all(rest, item, given);
    while take_if(rest, "OR") {
        held |= all(rest, item, given);
    }
    held
}

fn all(rest: &mut &[String], item: &Item, given: &Given) -> bool {
    let mut held = one(rest, item, given);
    while take_if(rest, "AND") {
        held &= one(rest, item, given);
    }
    held
}

fn one(rest: &mut &[String], item: &Item, given: &Given) -> bool {
    match take(rest) {
        "(" => {
            let held = any(rest, item, given);
            assert!(take_if(rest, ")"));
            held
        }
        "NOT" => !one(rest, item, given),
        "contains" => {
            assert!(take_if(rest, "("));
            let set = item.get(&given.name(take(rest)));
            assert!(take_if(rest, ","));
            let wanted = &given.value(take(rest), item).expect("a value")["N"];
            assert!(take_if(rest, ")"));
            let numbers = set.and_then(|set| set["NS"].as_array());
            numbers.is_some_and(|numbers| numbers.contains(wanted))
        }
        exists @ ("attribute_exists" | "attribute_not_exists") => {
            assert!(take_if(rest, "("));
            let there = item.contains_key(&given.name(take(rest)));
            assert!(take_if(rest, ")"));
            there == (exists == "attribute_exists")
        }
        "size" => {
            assert!(take_if(rest, "("));
            let set = item.get(&given.name(take(rest))).and_then(elements);
            assert!(take_if(rest, ")"));
            let (sign, right) = (take(rest), take(rest));
            let size = set.map(|set| json!({"N": set.len().to_string()}));
            size.is_some_and(|size| {
                compare(&size, sign, given.value(right, item).expect("a value"))
            })
        }
        left => {
            let (sign, right) = (take(rest), take(rest));
            match (given.value(left, item), given.value(right, item)) {
                (Some(left), Some(right)) => compare(left, sign, right),
                _ => false,
            }
        }
    }
}

/// The elements of a set of numbers or of bytes.
fn elements(set: &Value) -> Option<&Vec<Value>> {
    ["NS", "BS"].into_iter().find_map(|kind| set[kind].as_array())
}

/// Compares numbers by value, texts by their bytes, and sets without an order.
fn compare(left: &Value, sign: &str, right: &Value) -> bool {
    if let (Some(left), Some(right)) = (elements(left), elements(right)) {
        assert_eq!(sign, "=", "sets have no order");
        return left.len() == right.len() && left.iter().all(|one| right.contains(one));
    }
    let number = |value: &Value| value["N"].as_str().and_then(|text| text.parse::<i128>().ok());
    let order = match (number(left), number(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => left["S"].as_str().cmp(&right["S"].as_str()),
    };
    match sign {
        "=" => order.is_eq(),
        "<>" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        ">=" => order.is_ge(),
        other => panic!("{other} is not supported"),
    }
}

/// The sum of two numbers.
fn sum(one: &Value, two: &Value) -> Value {
    let number = |value: &Value| value["N"].as_str().and_then(|text| text.parse::<i128>().ok());
    let sum = number(one).expect("a number") + number(two).expect("a number");
    json!({"N": sum.to_string()})
}

/// Applies an update expression to an item, such as
/// `ADD a :b SET c = :d, e = if_not_exists(e, :f) + :g REMOVE h`.
pub fn update(expression: &str, item: &mut Item, given: &Given) {
    let words = words(expression);
    let mut rest = words.as_slice();
    let mut clause = String::new();
    while !rest.is_empty() {
        if ["ADD", "SET", "REMOVE", "DELETE"].contains(&rest[0].as_str()) {
            clause = take(&mut rest).to_owned();
        }
        let name = given.name(take(&mut rest));
        match clause.as_str() {
            "SET" => {
                assert!(take_if(&mut rest, "="));
                let mut value = None;
                if take_if(&mut rest, "if_not_exists") {
                    assert!(take_if(&mut rest, "("));
                    value = given.value(take(&mut rest), item).cloned();
                    assert!(take_if(&mut rest, ","));
                }
                let other = given.value(take(&mut rest), item).cloned();
                take_if(&mut rest, ")");
                let mut value = value.or(other).expect("a value");
                if take_if(&mut rest, "+") {
                    let by = given.value(take(&mut rest), item).expect("a value");
                    value = sum(&value, by);
                }
                item.insert(name, value);
            }
            "ADD" => {
                let by = given.value(take(&mut rest), item).expect("a value").clone();
                if let Some(more) = elements(&by) {
                    let kind = if by["NS"].is_array() { "NS" } else { "BS" };
                    let set = item.entry(name).or_insert_with(|| json!({kind: []}));
                    let set = set[kind].as_array_mut().expect("a set");
                    for element in more {
                        if !set.contains(element) {
                            set.push(element.clone());
                        }
                    }
                    take_if(&mut rest, ",");
                    continue;
                }
                let by = by["N"].clone();
                let number = |value: &Value| value.as_str().unwrap_or("0").parse::<i128>();
                let was = item.get(&name).map_or(0, |value| number(&value["N"]).expect("a number"));
                let is = was + number(&by).expect("a number");
                item.insert(name, json!({"N": is.to_string()}));
            }
            "DELETE" => {
                let gone = given.value(take(&mut rest), item).expect("a value").clone();
                let gone = gone["BS"].as_array().expect("a set");
                let set = item.get_mut(&name).map(|set| set["BS"].as_array_mut().expect("a set"));
                // DynamoDB has no empty sets
                if let Some(set) = set {
                    set.retain(|element| !gone.contains(element));
                    if set.is_empty() {
                        item.remove(&name);
                    }
                }
            }
            "REMOVE" => {
                item.remove(&name);
            }
            other => panic!("{other} is not supported"),
        }
        take_if(&mut rest, ",");
    }
}
