//! `statistics_msgs`: statistics of topics.

/// Messages.
pub mod msg {
    use crate::builtin_interfaces::msg::Time;
    use crate::macros::messages;

    messages! { "statistics_msgs/msg/";
        /// Statistics of one metric over a window of time.
        struct MetricsMessage = "RIHS01_36a67fb499fc2a11b8b9ff9ac735ed76e8d5a1f7775d6d5b97b625188ec68e20" {
            measurement_source_name: String,
            metrics_source: String,
            unit: String,
            window_start: Time,
            window_stop: Time,
            statistics: Vec<StatisticDataPoint>,
        }

        /// One figure; data_type is a code of StatisticDataType.
        struct StatisticDataPoint = "RIHS01_b7e61a407346ea912effb6954023d2d2c9adf8f7bc10f6cae576d350c445f6a5" {
            data_type: u8,
            data: f64,
        }

        /// Codes for StatisticDataPoint.data_type.
        struct StatisticDataType = "RIHS01_840d83bd5dc660e0c6e996f9e1ab80bec3c5a91976360a40d6cc579a37a8c959" {} const {
            STATISTICS_DATA_TYPE_UNINITIALIZED: u8 = 0,
            STATISTICS_DATA_TYPE_AVERAGE: u8 = 1,
            STATISTICS_DATA_TYPE_MINIMUM: u8 = 2,
            STATISTICS_DATA_TYPE_MAXIMUM: u8 = 3,
            STATISTICS_DATA_TYPE_STDDEV: u8 = 4,
            STATISTICS_DATA_TYPE_SAMPLE_COUNT: u8 = 5,
        }
    }
}
