//! The settings of the partitions of an author's followers.

use fanfold_core::fanout::FirstPartitions;
use fanfold_core::limits;
use fanfold_runtime::config::{Config, ConfigError};

/// Reads the number of partitions of a new author's followers (`FOLLOWER_PARTITIONS`): a power of two.
pub fn first_partitions(config: &Config) -> Result<FirstPartitions, ConfigError> {
    let (name, max) = ("FOLLOWER_PARTITIONS", limits::FOLLOWER_PARTITIONS_MAX);
    let number = config.number(name, limits::FOLLOWER_PARTITIONS_DEFAULT, 1..=max)?;
    if !number.is_power_of_two() {
        let takes = format!("a power of two from 1 to {max}");
        return Err(ConfigError::Bad { name, value: number.to_string(), takes });
    }
    Ok(FirstPartitions(number as u16))
}

/// Reads the number of followers in each partition above which the number of partitions doubles
/// (`FOLLOWERS_PER_PARTITION`).
pub fn followers_per_partition(config: &Config) -> Result<u64, ConfigError> {
    let max = limits::FOLLOWERS_PER_PARTITION_MAX;
    let default = limits::FOLLOWERS_PER_PARTITION_DEFAULT;
    config.number("FOLLOWERS_PER_PARTITION", default, 1..=max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_first_partitions_is_a_power_of_two() {
        let with = |value: &str| Config::from_pairs([("FOLLOWER_PARTITIONS", value)]);
        for bad in ["0", "3", "128", "four"] {
            let error = first_partitions(&with(bad)).err().unwrap().to_string();
            assert!(error.contains("FOLLOWER_PARTITIONS"), "{error}");
        }
        assert_eq!(first_partitions(&with("64")).unwrap(), FirstPartitions(64));
        assert_eq!(first_partitions(&Config::default()).unwrap(), FirstPartitions(4));
    }
}
