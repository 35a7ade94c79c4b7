//! The measurements: tables for people, and JSON files for programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

#[derive(Default)]
pub struct Report {
    /// One flat object of numbers.
    pub summary: BTreeMap<String, f64>,
    details: Map<String, Value>,
}

impl Report {
    pub fn set(&mut self, key: impl Into<String>, value: f64) {
        self.summary.insert(key.into(), value);
    }

    /// Prints a table and keeps it.
    pub fn table(&mut self, name: &str, title: &str, head: &[&str], rows: Vec<Vec<String>>) {
        println!("\n{title}");
        print(head, &rows);
        self.details
            .insert(name.to_owned(), json!({"title": title, "columns": head, "rows": rows}));
    }

    /// Writes the summary and the details. Returns the paths of the files.
    pub fn write(&self, folder: &Path) -> std::io::Result<Vec<PathBuf>> {
        std::fs::create_dir_all(folder)?;
        let files = [
            ("summary.json", json!(self.summary)),
            ("details.json", Value::Object(self.details.clone())),
        ];
        let mut written = Vec::new();
        for (name, value) in files {
            let file = folder.join(name);
            std::fs::write(&file, format!("{value:#}\n"))?;
            written.push(file);
        }
        Ok(written)
    }
}

/// Prints a table. The first column is aligned to the left, the others to the right.
pub fn print(head: &[&str], rows: &[Vec<String>]) {
    let cell =
        |row: &[String], column: usize| row.get(column).map_or(0, |cell| cell.chars().count());
    let width = |column: usize| {
        let widest = rows.iter().map(|row| cell(row, column)).max().unwrap_or(0);
        widest.max(head[column].chars().count())
    };
    let line = |cells: Vec<&str>| {
        let padded = cells.iter().enumerate().map(|(column, cell)| match column {
            0 => format!("{cell:<0$}", width(column)),
            _ => format!("{cell:>0$}", width(column)),
        });
        println!("  {}", padded.collect::<Vec<_>>().join("  ").trim_end());
    };
    line(head.to_vec());
    for row in rows {
        line(row.iter().map(String::as_str).collect());
    }
}

/// A number with few digits, for reading.
pub fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 1_000.0 => thousands(value),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 0.1 || v == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// A rounded number with separators: 1234567 is `1,234,567`.
pub fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::from(if value < 0.0 { "-" } else { "" });
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
