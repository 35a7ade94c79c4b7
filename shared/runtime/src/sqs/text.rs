//! Texts in characters that SQS takes.

use fanfold_core::message::Received;

use crate::error::StoreError;

/// The body of a message, in characters that SQS takes.
pub(super) fn body<M: Received>(doing: &'static str, message: &M) -> Result<String, StoreError> {
    let json = message.encode().map_err(StoreError::request(doing))?;
    Ok(match json.contains(NOT_CARRIED) {
        true => json.replace('\u{FFFE}', "\\ufffe").replace('\u{FFFF}', "\\uffff"),
        false => json,
    })
}

/// The characters that JSON leaves as they are, and SQS refuses. (JSON escapes control characters, which SQS refuses, too.) In
/// JSON they are inside of texts and names, where an escape stands for the same character.
const NOT_CARRIED: [char; 2] = ['\u{FFFE}', '\u{FFFF}'];

/// Whether SQS takes this character in an attribute.
pub(super) fn is_carried(c: char) -> bool {
    !c.is_control() && !NOT_CARRIED.contains(&c)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fanfold_core::message;
    use fanfold_core::message::Received as _;
    use fanfold_core::registry::CHUNKS;
    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};

    use super::body;

    #[derive(Serialize, Deserialize)]
    struct Texts {
        texts: BTreeMap<String, String>,
    }

    message!(Texts 1 on CHUNKS);

    /// The characters of a message, of the API reference of SQS.
    fn is_taken(c: char) -> bool {
        matches!(c, '\u{9}' | '\u{A}' | '\u{D}' | '\u{20}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
    }

    proptest! {
        #[test]
        fn every_text_and_name_is_carried(texts: BTreeMap<String, String>, more in "[\u{0}-\u{1f}\u{7f}\u{fffe}\u{ffff}\"\\\\]{0,9}") {
            let texts: BTreeMap<String, String> =
                texts.into_iter().map(|(name, text)| (name + &more, text + &more)).collect();
            let sent = body("sending", &Texts { texts: texts.clone() }).unwrap();
            prop_assert!(sent.chars().all(is_taken), "{:?}", sent);
            prop_assert_eq!(Texts::decode(&sent).unwrap().texts, texts);
        }
    }
}
