//! Time to the last delivery by number of followers, with logarithmic axes.

use plotters::prelude::*;

use super::{Area, Drawn, GRID, INK, OURS, text};
use crate::fanout::SIZES;
use crate::report::{Report, thousands};

/// The numbers of followers, with the milliseconds to the last delivery.
pub fn points(report: &Report) -> Option<Vec<(f64, f64)>> {
    let ms = |count: &usize| report.summary.get(&format!("fanout_ms_{count}")).copied();
    SIZES.iter().map(|count| Some((*count as f64, ms(count)?))).collect()
}

pub fn draw(area: &Area, points: &[(f64, f64)]) -> Drawn {
    let mut chart = ChartBuilder::on(area)
        .caption("Fan-out: time to the last delivery", text(17))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d((60.0..1_600_000.0).log_scale(), (0.5..40_000.0).log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(GRID.mix(0.0))
        .bold_line_style(GRID)
        .axis_style(INK)
        .label_style(text(13))
        .x_desc("followers")
        .y_desc("ms")
        .x_label_formatter(&|count| thousands(*count))
        .y_label_formatter(&|ms| thousands(*ms))
        .draw()?;
    // the line if each follower takes the same time as with 100,000 followers
    if let Some((count, ms)) = points.iter().find(|(count, _)| *count == 100_000.0) {
        let line = [60.0, 1_600_000.0].map(|followers| (followers, followers * ms / count));
        chart.draw_series(LineSeries::new(line, INK.mix(0.45).stroke_width(1)))?;
        let place = (1_300.0, 1_300.0 * ms / count * 0.6);
        chart.draw_series([Text::new("linear", place, text(13).color(&INK.mix(0.7)))])?;
    }
    chart.draw_series(LineSeries::new(points.iter().copied(), OURS.stroke_width(2)))?;
    chart.draw_series(points.iter().map(|point| Circle::new(*point, 4, OURS.filled())))?;
    let label = |(count, ms): &(f64, f64)| {
        let rate = format!("{}/s", thousands(count / ms * 1e3));
        // the first point has the axis to its left and the line above it
        let place = if *count < 1_000.0 { (8, 4) } else { (-70, -18) };
        EmptyElement::at((*count, *ms)) + Text::new(rate, place, text(12))
    };
    chart.draw_series(points.iter().map(label))?;
    Ok(())
}
