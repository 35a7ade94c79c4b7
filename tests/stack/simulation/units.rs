//! What DynamoDB charges for, by its own rules: sizes of items, and units for reads and writes.

use serde_json::Value;

use super::expression::Item;

/// A query stops after so much, whatever its limit.
pub const PAGE_BYTES_MAX: usize = 1024 * 1024;
const READ_UNIT_BYTES: usize = 4 * 1024;
const WRITE_UNIT_BYTES: usize = 1024;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Units {
    pub reads: f64,
    pub writes: f64,
}

impl Units {
    /// An item that was asked for, or all that a query went through: 4 KB a unit, at least one,
    /// half of it if an old answer would do.
    pub fn read(&mut self, bytes: usize, consistent: &Value) {
        let units = bytes.div_ceil(READ_UNIT_BYTES).max(1) as f64;
        self.reads += if consistent == &Value::Bool(true) { units } else { units / 2.0 };
    }

    /// 1 KB a unit; in a transaction `times` is 2.
    pub fn write(&mut self, bytes: usize, times: f64) {
        self.writes += times * bytes.div_ceil(WRITE_UNIT_BYTES).max(1) as f64;
    }
}

/// Names and values; a number takes a byte for two digits, and one more (those in sets are short).
pub fn bytes(item: &Item) -> usize {
    let value = |value: &Value| match (value["S"].as_str(), value["N"].as_str()) {
        (Some(text), _) => text.len(),
        (_, Some(number)) => number.len().div_ceil(2) + 1,
        _ => match value["NS"].as_array() {
            Some(numbers) => 2 * numbers.len(),
            None => 1,
        },
    };
    item.iter().map(|(name, attribute)| name.len() + value(attribute)).sum()
}
