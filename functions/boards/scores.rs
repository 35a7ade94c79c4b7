//! Scores in bodies.

use fanfold_core::Scores;
use fanfold_web::{Problem, ProblemKind};
use serde::{Deserialize, Deserializer, Serialize, de};
use utoipa::ToSchema;

/// A score: a 64-bit signed integer as a string of digits, because many clients read numbers in JSON as doubles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(value_type = String, as = Score, pattern = "^(0|-?[1-9][0-9]{0,18})$", min_length = 1, max_length = 20, example = "1500")]
pub struct ScoreText(pub i64);

impl Serialize for ScoreText {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ScoreText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = "a score is a string of digits, from \"-9223372036854775808\" to \"9223372036854775807\"";
        let text = String::deserialize(deserializer).map_err(|_| de::Error::custom(form))?;
        plain_score(&text).map(Self).ok_or_else(|| de::Error::custom(form))
    }
}

/// The score in a text. `None` for other texts, and for other spellings of a score.
pub(super) fn plain_score(text: &str) -> Option<i64> {
    text.parse().ok().filter(|score: &i64| score.to_string() == text)
}

pub(super) fn scores(list: &[ScoreText]) -> Result<Scores, Problem> {
    let list: Vec<i64> = list.iter().map(|score| score.0).collect();
    Scores::new(&list).map_err(|error| Problem::new(ProblemKind::InvalidScores, error.to_string()))
}

pub(super) fn texts(scores: &Scores) -> Vec<ScoreText> {
    scores.as_slice().iter().map(|score| ScoreText(*score)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_a_string_of_digits() {
        for text in [i64::MIN, -1, 0, 1, i64::MAX].map(|score| score.to_string()) {
            let score: ScoreText = serde_json::from_value(text.clone().into()).unwrap();
            assert_eq!(serde_json::to_value(score).unwrap(), text);
        }
        for bad in [
            serde_json::json!(5),
            "".into(),
            "+5".into(),
            "05".into(),
            "-0".into(),
            "9223372036854775808".into(),
            "1.0".into(),
        ] {
            assert!(serde_json::from_value::<ScoreText>(bad.clone()).is_err(), "{bad}");
        }
    }
}
