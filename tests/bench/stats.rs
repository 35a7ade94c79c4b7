//! Medians and percentiles.

pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    percentile(values, 50.0)
}

pub fn percentile(values: impl IntoIterator<Item = f64>, percent: f64) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = percent / 100.0 * last as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + (high - low) * place.fract()
}
