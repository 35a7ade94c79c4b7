//! The figures of README.md in this folder: the time of a fan-out by audience and the server CPU for each follower, the time
//! to find due items, the server CPU for a change on a board, and the cost of feeds that are kept.

mod bars;
mod due;
mod growth;
mod idle;
mod rank;

use std::path::{Path, PathBuf};

use plotters::prelude::*;

use crate::report::Report;

const SIZE: (u32, u32) = (960, 400);
/// A light background, so that the figure is readable on a dark page, too.
const BACKGROUND: RGBColor = RGBColor(250, 250, 248);
const INK: RGBColor = RGBColor(40, 40, 48);
const GRID: RGBColor = RGBColor(222, 222, 218);
const OURS: RGBColor = RGBColor(0, 114, 178);
const OTHERS: [RGBColor; 3] =
    [RGBColor(213, 94, 0), RGBColor(204, 160, 40), RGBColor(150, 150, 150)];
const FONT: &str = "sans-serif";

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// Draws the figures into a folder, and returns their paths. One of which a part was not measured is left out.
pub fn draw(report: &Report, folder: &Path) -> Vec<PathBuf> {
    let fan_out = draw_fan_out(report, &folder.join("bench.svg"));
    let narrow = |name: &str, draw: &dyn Fn(&Area) -> Drawn| drawn(&folder.join(name), draw);
    let due = due::lines(report).map(|lines| narrow("due.svg", &|area| due::draw(area, &lines)));
    let rank =
        rank::groups(report).map(|groups| narrow("rank.svg", &|area| rank::draw(area, &groups)));
    let idle =
        idle::lines(report).map(|lines| narrow("idle.svg", &|area| idle::draw(area, &lines)));
    [fan_out, due, rank, idle].into_iter().flatten().collect()
}

fn drawn(file: &Path, draw: &dyn Fn(&Area) -> Drawn) -> PathBuf {
    let root = SVGBackend::new(file, (SIZE.0 * 3 / 4, SIZE.1)).into_drawing_area();
    root.fill(&BACKGROUND).expect("a figure");
    draw(&root).expect("a figure");
    root.present().expect("a figure written");
    file.to_owned()
}

fn draw_fan_out(report: &Report, file: &Path) -> Option<PathBuf> {
    let growth = growth::points(report)?;
    let bars = bars::groups(report)?;
    let root = SVGBackend::new(file, SIZE).into_drawing_area();
    root.fill(&BACKGROUND).expect("a figure");
    let (left, right) = root.split_horizontally(SIZE.0 / 2);
    growth::draw(&left, &growth).expect("a figure");
    bars::draw(&right, &bars).expect("a figure");
    root.present().expect("a figure written");
    Some(file.to_owned())
}

fn text(size: u32) -> TextStyle<'static> {
    (FONT, size).into_font().color(&INK)
}
