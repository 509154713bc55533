//! `composition_interfaces`: component containers.

/// Services.
pub mod srv {
    use crate::rcl_interfaces::msg::Parameter;
    use crate::macros::services;

    services! { "composition_interfaces/srv/";
        /// Lists the nodes loaded in a component container.
        service ListNodes = "RIHS01_13f30d73a74c844ee4bacf78f3680f08777cad137f10fbd6a648544cc7b59d2a" {
            request ListNodesRequest = "RIHS01_57c879a1825b3fa15fd58e70d2e73223af6b9c45c7ae104cc107e73464d3a724" {}
            response ListNodesResponse = "RIHS01_b7cd8401aedcd85c4cedce384944001d5c1ab611e0164a8207045cfcaf4a2584" {
                full_node_names: Vec<String>,
                unique_ids: Vec<u64>,
            }
            event = "RIHS01_843ad4c80092060d68dbf8008ce53354314d98257cddddaf55df03abd7321b38"
        }

        /// Loads a node into a component container.
        service LoadNode = "RIHS01_2e521ef6066fba6d7fc3a3b175d486709f01b4d738d9a59188858546fc8e5acd" {
            request LoadNodeRequest = "RIHS01_7d3496175f54f92d652547e144c9b2a3b22afd604f84ed70adfcd1cfe35801b5" {
                package_name: String,
                plugin_name: String,
                node_name: String,
                node_namespace: String,
                log_level: u8,
                remap_rules: Vec<String>,
                parameters: Vec<Parameter>,
                extra_arguments: Vec<Parameter>,
            }
            response LoadNodeResponse = "RIHS01_08cdf942efabec2448fd03c131f3627a33ed05376400612425f871feb87ca9fd" {
                success: bool,
                error_message: String,
                full_node_name: String,
                unique_id: u64,
            }
            event = "RIHS01_db276d4eb31443e4d30cfb4b0c01bcd22af27fc95be8e1ba2cc56d7772219cd2"
        }

        /// Unloads a node from a component container.
        service UnloadNode = "RIHS01_dce562f83adc735ddcfe9dfb927b89293d4dd0fe2b8fc91e772fb83e970a43b0" {
            request UnloadNodeRequest = "RIHS01_95d5cfc357956740190c7685ac868d9c7c98dcb8c1416aae8eaa351422074e12" {
                unique_id: u64,
            }
            response UnloadNodeResponse = "RIHS01_fa7fc38f9206220a6bc1558a3c019269e5aa592f7fae01dffbd19f56eb86d599" {
                success: bool,
                error_message: String,
            }
            event = "RIHS01_448a525df1406f0c3dc653b03c68cb80d5c67cff48a8006a65f76f13e23e29cf"
        }
    }
}
