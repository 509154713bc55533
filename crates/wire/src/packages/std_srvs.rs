//! `std_srvs`: plain services.

/// Services.
pub mod srv {
    use crate::macros::services;

    services! { "std_srvs/srv/";
        /// A call without data.
        service Empty = "RIHS01_5888399dedec5ccc85ea6451949fd2c9f97bfdf963f9a588821639fcd31b5d19" {
            request EmptyRequest = "RIHS01_458eaf200a3f63d9cc53d19436edebc0c140ef4c93ca75d5bd4ce19fd7759e35" {}
            response EmptyResponse = "RIHS01_0a2858b3f60df644a61d0fa44cfc923a3d3628e0ad9c8ad8534b1a2c92a413dc" {}
            event = "RIHS01_66fa7fcfb5f2bf04b9a8a55603318c5c402edfc4bd56bb0ed7b602990c29305a"
        }

        /// Switches something on or off.
        service SetBool = "RIHS01_abe9e4bb6b41b40e6789712c00ec8871923e089af3f667a79992a428cff2da0a" {
            request SetBoolRequest = "RIHS01_c62fbb99d94e1b25e8ef9e109f9581956bb1b3361a45a4e5810c36a90d29932e" {
                data: bool,
            }
            response SetBoolResponse = "RIHS01_d0814e7f7b4880ab77e9c57426c7aa1562ab69f11eef8e2e968812f9cbd0b059" {
                success: bool,
                message: String,
            }
            event = "RIHS01_3c4c20015afb4303eafd347b1d6a786f171a89c814726961a9593ef10df878cf"
        }

        /// Starts something.
        service Trigger = "RIHS01_eeff2cd6fa5ad9d27cdf4dec64818317839b62f212a91e6b5304b634b2062c5f" {
            request TriggerRequest = "RIHS01_d010825374ce8918e72bfd826c82603e60f45419e932ea976f807b74a863a199" {}
            response TriggerResponse = "RIHS01_2d946c21e2fc3f1e9ca6986a8191d85fcc70097a8bb7771a053564bc47009cdf" {
                success: bool,
                message: String,
            }
            event = "RIHS01_ec4a1d26b0575e61906890342aba9523a2360e9845857c5590fa6e23bc39e1c2"
        }
    }
}
