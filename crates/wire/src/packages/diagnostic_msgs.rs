//! `diagnostic_msgs`: health of components.

/// Messages.
pub mod msg {
    use crate::std_msgs::msg::Header;
    use crate::macros::messages;

    messages! { "diagnostic_msgs/msg/";
        /// Status of several components, as published on /diagnostics.
        struct DiagnosticArray = "RIHS01_5a8a36efb05fb25070fa0fb3810290c0e6cd4862b54a8fb975a1ee8dc55a333e" {
            header: Header,
            status: Vec<DiagnosticStatus>,
        }

        /// Health of one component.
        struct DiagnosticStatus = "RIHS01_b0e3e692ea2d54a8af2f4ef1930e81556a2db55216b771f8a7d2724ed47bf0e4" {
            level: u8,
            name: String,
            message: String,
            hardware_id: String,
            values: Vec<KeyValue>,
        } const {
            OK: u8 = 0,
            WARN: u8 = 1,
            ERROR: u8 = 2,
            STALE: u8 = 3,
        }

        /// One named figure that goes with a status.
        struct KeyValue = "RIHS01_d68081eaa540288c5440753baecef0c4e16e81a5f78ad68902ded5100413bb42" {
            key: String,
            value: String,
        }
    }
}

/// Services.
pub mod srv {
    use crate::diagnostic_msgs::msg::DiagnosticStatus;
    use crate::macros::services;

    services! { "diagnostic_msgs/srv/";
        /// Asks an aggregator to load analyzers from a namespace.
        service AddDiagnostics = "RIHS01_6b91084c9f8bffd9b0c1f6883e0e8e491a831f4fc6c6aec77a4efaf3f1ea90b5" {
            request AddDiagnosticsRequest = "RIHS01_e0b6572a07c2b3ca2c4f2acf742297661f6ceb50f5baa4f9305b6094cf950146" {
                load_namespace: String,
            }
            response AddDiagnosticsResponse = "RIHS01_e7070a2373c892c4cf071dcd90405d7696187eb2ff0e40d8b6472a04a4b73d22" {
                success: bool,
                message: String,
            }
            event = "RIHS01_21ac801810297ae86b5e5dcc665bbd1918bf71b19615c031c4c6e755ada80c7c"
        }

        /// Runs a component's self test.
        service SelfTest = "RIHS01_df1e4e54a814a16ccc77471e9239618d46818e8d0e3b45ad6f8c34c6e2abfef6" {
            request SelfTestRequest = "RIHS01_3bb94b497e74e9beed2dddc7212d3ae596696d30413bd1550fe932fc20efb8a4" {}
            response SelfTestResponse = "RIHS01_489da82e00dce6671cb0ff423a0f0939b546336fbfe49d6c7e64c9b89f898f57" {
                id: String,
                passed: u8,
                status: Vec<DiagnosticStatus>,
            }
            event = "RIHS01_949f4bd418dae483879d649012beff105276e5b75b3c7445693c70dca1687718"
        }
    }
}
