//! The cost of a million readers against the time of the first page of a visit, by the time after which an unread feed is dropped.

use plotters::prelude::*;

use super::{Area, Drawn, GRID, INK, OTHERS, OURS, text};
use crate::report::{Report, short, thousands};
use crate::returns::AFTER_S;

/// For each time: its name, the US$ of a month, and the milliseconds.
type Line = Vec<(&'static str, f64, f64)>;

const NAMES: [&str; AFTER_S.len()] =
    ["10 minutes", "1 hour", "6 hours", "1 day", "3 days", "7 days"];

/// The median and the 99th percentile, with nodes.
pub fn lines(report: &Report) -> Option<[Line; 2]> {
    let line = |what: &str| {
        let of = |key: &str, after| report.summary.get(&format!("idle_{key}_{after}")).copied();
        let points = AFTER_S.iter().zip(NAMES);
        let points = points.map(|(after, name)| {
            Some((name, of("usd_nodes", after)?, of(&format!("{what}_ms"), after)?))
        });
        points.collect::<Option<Line>>()
    };
    Some([line("p50")?, line("p99")?])
}

pub fn draw(area: &Area, lines: &[Line; 2]) -> Drawn {
    let usd = || lines.iter().flatten().map(|(_, usd, _)| *usd);
    let (least, most) = (usd().fold(f64::MAX, f64::min), usd().fold(0.0, f64::max));
    let mut chart = ChartBuilder::on(area)
        .caption("A million readers: when to drop an unread feed", text(17))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(((least * 0.8)..(most * 1.8)).log_scale(), (0.5..100.0).log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(GRID.mix(0.0))
        .bold_line_style(GRID)
        .axis_style(INK)
        .label_style(text(13))
        .x_desc("US$ a month, of memory and returns")
        .y_desc("first page of a visit, ms")
        .x_label_formatter(&|usd| thousands(*usd))
        .y_label_formatter(&|ms| short(*ms))
        .draw()?;
    for (line, (title, color)) in lines.iter().zip([("p50", OURS), ("p99", OTHERS[0])]) {
        let points = || line.iter().map(|(_, usd, ms)| (*usd, *ms));
        chart.draw_series(LineSeries::new(points(), color.stroke_width(2)))?;
        chart.draw_series(points().map(|point| Circle::new(point, 4, color.filled())))?;
        for (place, (name, usd, ms)) in line.iter().enumerate() {
            let label = if place == 0 { format!("{title}: {name}") } else { (*name).to_owned() };
            // those of long times are near each other
            let below = if place % 2 == 0 { -18 } else { 8 };
            let label = EmptyElement::at((*usd, *ms)) + Text::new(label, (-10, below), text(12));
            chart.plotting_area().draw(&label)?;
        }
    }
    Ok(())
}
