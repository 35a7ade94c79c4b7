//! Time to find 100 due items by the number that wait, with logarithmic axes.

use plotters::prelude::*;

use super::{Area, Drawn, GRID, INK, OTHERS, OURS, text};
use crate::due::{SIZES, WAYS};
use crate::report::{Report, short, thousands};

type Line = (&'static str, Vec<(f64, f64)>);

/// The milliseconds of each way, for each number of items that wait.
pub fn lines(report: &Report) -> Option<Vec<Line>> {
    let line = |(way, title): (&str, &'static str)| {
        let ms = |size: &usize| report.summary.get(&format!("due_{way}_ms_{size}")).copied();
        let points = SIZES.iter().map(|size| Some((*size as f64, ms(size)?)));
        Some((title, points.collect::<Option<Vec<_>>>()?))
    };
    WAYS.into_iter().map(line).collect()
}

pub fn draw(area: &Area, lines: &[Line]) -> Drawn {
    let mut chart = ChartBuilder::on(area)
        .caption("100 due items among those that wait", text(17))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d((6_000.0..6_000_000.0).log_scale(), (0.5..40_000.0).log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(GRID.mix(0.0))
        .bold_line_style(GRID)
        .axis_style(INK)
        .label_style(text(13))
        .x_desc("items that wait")
        .y_desc("ms")
        .x_label_formatter(&|count| thousands(*count))
        .y_label_formatter(&|ms| short(*ms))
        .draw()?;
    for (place, (title, points)) in lines.iter().enumerate() {
        // the last one is Fanfold's way
        let color = OTHERS.get(place).copied().unwrap_or(OURS);
        chart.draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)))?;
        chart.draw_series(points.iter().map(|point| Circle::new(*point, 4, color.filled())))?;
        // below the points of the second line, which are near those of the first
        let below = if place == 1 { 8 } else { -20 };
        let values = points.iter().map(|point| {
            EmptyElement::at(*point) + Text::new(short(point.1), (-12, below), text(12))
        });
        chart.draw_series(values)?;
        if let Some(last) = points.last() {
            let name = EmptyElement::at(*last) + Text::new(*title, (10, -6), text(13));
            chart.plotting_area().draw(&name)?;
        }
    }
    Ok(())
}
