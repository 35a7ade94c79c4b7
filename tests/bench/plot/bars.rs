//! Server CPU for each follower, by variant and by share of live feeds.

use plotters::prelude::*;

use super::{Area, Drawn, GRID, INK, OTHERS, OURS, text};
use crate::report::{Report, short};

const NAMES: [(&str, &str); 4] = [
    ("ours", "Fanfold"),
    ("pipeline", "plain pipeline, 500 entries"),
    ("script", "a script per follower"),
    ("ceiling", "bare ZADD (ceiling)"),
];
const LIVE: [u64; 3] = [100, 20, 5];
/// The width of a group in bars, including the space after it.
const GROUP: f64 = 5.0;

/// The microseconds of each variant, for each share of live feeds.
pub fn groups(report: &Report) -> Option<Vec<Vec<Option<f64>>>> {
    let group = |live: u64| -> Vec<Option<f64>> {
        let key = |name: &str| format!("deliver_cpu_us_{name}_live{live}");
        NAMES.iter().map(|(name, _)| report.summary.get(&key(name)).copied()).collect()
    };
    let groups: Vec<_> = LIVE.iter().map(|live| group(*live)).collect();
    groups.iter().all(|group| group[0].is_some()).then_some(groups)
}

pub fn draw(area: &Area, groups: &[Vec<Option<f64>>]) -> Drawn {
    let highest = groups.iter().flatten().flatten().copied().fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .caption("Server CPU for each follower of a post", text(17))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(48)
        .build_cartesian_2d(-0.5..GROUP * 3.0 - 0.5, 0.0..highest * 1.45)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(0)
        .light_line_style(GRID.mix(0.0))
        .bold_line_style(GRID)
        .axis_style(INK)
        .label_style(text(13))
        .x_desc("followers whose feed is live")
        .y_desc("µs")
        .y_label_formatter(&|us| format!("{us:.0}"))
        .draw()?;
    for (place, (_, name)) in NAMES.iter().enumerate() {
        let color = if place == 0 { OURS } else { OTHERS[place - 1] };
        let bars = groups.iter().enumerate().filter_map(|(group, values)| {
            let left = group as f64 * GROUP + place as f64;
            Some((left, values[place]?))
        });
        let bars: Vec<(f64, f64)> = bars.collect();
        chart
            .draw_series(bars.iter().map(|(left, us)| {
                Rectangle::new([(left + 0.06, 0.0), (left + 0.94, *us)], color.filled())
            }))?
            .label(*name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], color.filled()));
        chart.draw_series(bars.iter().map(|(left, us)| {
            EmptyElement::at((*left, *us)) + Text::new(short(*us), (4, -15), text(12))
        }))?;
    }
    for (group, live) in LIVE.iter().enumerate() {
        let at = (group as f64 * GROUP + 1.2, 0.0);
        let name = EmptyElement::at(at) + Text::new(format!("{live} %"), (0, 6), text(13));
        chart.plotting_area().draw(&name)?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .label_font(text(13))
        .border_style(GRID)
        .draw()?;
    Ok(())
}
