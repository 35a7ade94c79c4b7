//! Server CPU for a change of a member and its new rank, by way and by the number of members.

use plotters::prelude::*;

use super::{Area, Drawn, GRID, INK, OTHERS, OURS, text};
use crate::rank::{SIZES, WAYS};
use crate::report::{Report, short, thousands};

/// The width of a group in bars, including the space after it.
const GROUP: f64 = 5.0;

/// The microseconds of each way, for each number of members.
pub fn groups(report: &Report) -> Option<Vec<Vec<f64>>> {
    let group = |size: &u64| -> Option<Vec<f64>> {
        let key = |way: &str| format!("rank_set_us_{way}_{size}");
        WAYS.iter().map(|(way, _)| report.summary.get(&key(way)).copied()).collect()
    };
    SIZES.iter().map(group).collect()
}

pub fn draw(area: &Area, groups: &[Vec<f64>]) -> Drawn {
    let highest = groups.iter().flatten().copied().fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .caption("Server CPU for new scores of a member, with the new rank", text(17))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(48)
        .build_cartesian_2d(-0.5..GROUP * 2.0 - 0.5, 0.0..highest * 1.5)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(0)
        .light_line_style(GRID.mix(0.0))
        .bold_line_style(GRID)
        .axis_style(INK)
        .label_style(text(13))
        .x_desc("members of the board")
        .y_desc("µs")
        .y_label_formatter(&|us| format!("{us:.0}"))
        .draw()?;
    for (place, (_, title)) in WAYS.iter().enumerate() {
        let color = if place == 0 { OURS } else { OTHERS[place - 1] };
        let bars: Vec<(f64, f64)> = groups
            .iter()
            .enumerate()
            .map(|(group, values)| (group as f64 * GROUP + place as f64, values[place]))
            .collect();
        chart
            .draw_series(bars.iter().map(|(left, us)| {
                Rectangle::new([(left + 0.06, 0.0), (left + 0.94, *us)], color.filled())
            }))?
            .label(*title)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], color.filled()));
        chart.draw_series(bars.iter().map(|(left, us)| {
            EmptyElement::at((*left, *us)) + Text::new(short(*us), (8, -15), text(12))
        }))?;
    }
    for (group, size) in SIZES.iter().enumerate() {
        let at = (group as f64 * GROUP + 1.4, 0.0);
        let size = Text::new(thousands(*size as f64), (0, 6), text(13));
        chart.plotting_area().draw(&(EmptyElement::at(at) + size))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .label_font(text(13))
        .border_style(GRID)
        .draw()?;
    Ok(())
}
