//! The charges of DynamoDB, by its own rules: sizes of items, and units for reads and writes.

use serde_json::Value;

use super::expression::Item;

/// A query stops after this many bytes, whatever its limit.
pub const PAGE_BYTES_MAX: usize = 1024 * 1024;
const READ_UNIT_BYTES: usize = 4 * 1024;
const WRITE_UNIT_BYTES: usize = 1024;
const WORD_BYTES: usize = 8;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Units {
    pub reads: f64,
    pub writes: f64,
}

impl Units {
    /// Units for reading this many bytes; see [`Units::read`].
    pub fn of_read(bytes: usize, consistent: &Value) -> f64 {
        let units = bytes.div_ceil(READ_UNIT_BYTES).max(1) as f64;
        if consistent == &Value::Bool(true) { units } else { units / 2.0 }
    }

    /// Units for writing this many bytes; see [`Units::write`].
    pub fn of_write(bytes: usize, times: f64) -> f64 {
        times * bytes.div_ceil(WRITE_UNIT_BYTES).max(1) as f64
    }

    /// Adds the units for a requested item, or for all items that a query evaluated: one unit for each
    /// 4 KB, at least one. A read that is not consistent costs half.
    pub fn read(&mut self, bytes: usize, consistent: &Value) {
        self.reads += Self::of_read(bytes, consistent);
    }

    /// Adds one unit for each 1 KB written, `times` as many: 2 in a transaction, else 1.
    pub fn write(&mut self, bytes: usize, times: f64) {
        self.writes += Self::of_write(bytes, times);
    }
}

/// The size of an item's names and values. A number takes one byte for two digits, and one more. The
/// numbers in sets are short: two bytes each. All sets of bytes are of words of 8 bytes.
pub fn bytes(item: &Item) -> usize {
    let value = |value: &Value| match (value["S"].as_str(), value["N"].as_str()) {
        (Some(text), _) => text.len(),
        (_, Some(number)) => number.len().div_ceil(2) + 1,
        _ if value["B"].is_string() => value["B"].as_str().unwrap_or_default().len() / 4 * 3,
        _ => match (value["NS"].as_array(), value["BS"].as_array()) {
            (Some(numbers), _) => 2 * numbers.len(),
            (_, Some(words)) => WORD_BYTES * words.len(),
            _ => 1,
        },
    };
    item.iter().map(|(name, attribute)| name.len() + value(attribute)).sum()
}
