//! `rosbag2_interfaces`: what one asks of a recorder.

/// Services.
pub mod srv {
    use crate::macros::services;

    services! { "rosbag2_interfaces/srv/";
        /// Asks whether messages are let by.
        service IsPaused = "RIHS01_c4d007c4a9ca1a76729d96b81c20db85b88b454eee371c0d8afe3aa31b899a40" {
            request IsPausedRequest = "RIHS01_9ef3b23785d1cf8409fccd055c3d88e6423169b9e4eebd5c2113996db8a6e4bc" {}
            response IsPausedResponse = "RIHS01_245fc5f694b47fafac3c3a6ef8e412771153af28f86ac1a6e3acee60f9d01de8" {
                paused: bool,
            }
            event = "RIHS01_dd35ad78b4edcdc7766c8e48fe03975da3ff1d5c96a17b9125cfa7d708c11cba"
        }

        /// Stops writing without ending the recording.
        service Pause = "RIHS01_b101e6aaf344c37f1405f5a1f484fee1c7d2acc61c6f04aeb636e9ab3f51a497" {
            request PauseRequest = "RIHS01_281bb2694f33f986b925c21fd9981c80cc5f5147bd5ec42d87525f1986c9e466" {}
            response PauseResponse = "RIHS01_6d7e31f48308bceaeaf78f6b75d6c7900bff88363706ac820e5649e6593b66ed" {}
            event = "RIHS01_0c8c11a07d8d856a10e8750474f5dc4dfee15db4b9164176defd8912609d349e"
        }

        /// Begins a recording, since Lyrical.
        service Record = "RIHS01_2283a262504c239b723984ce0ef94acf2eecfe156b21461f2cacbbf0219e898a" {
            request RecordRequest = "RIHS01_fa04135023c2daf7b8b382839b8aff24690cbf8448f6f36b8059ac2c91261636" {
                uri: String,
            }
            response RecordResponse = "RIHS01_7fcd82e86a46c0f0ee3927b80053c528194e620132a714bfcd207124fc4ae623" {
                return_code: i32,
                error_string: String,
            }
            event = "RIHS01_25da4f1d872b0a15dde9e0ad69af1aa6542ec154a093373175470f6b2cdcd2f6"
        }

        /// Goes on after a pause.
        service Resume = "RIHS01_fb4a116a8bdfc09c4c9f48df3b295d1f546053b4bb145bcbd4c92e7eef9896b8" {
            request ResumeRequest = "RIHS01_fb988aa8fefd54ec0e79a58a51aa06101e0bcb1668dc38bbc0b4e02d6df274d9" {}
            response ResumeResponse = "RIHS01_9df430ac47b3d942f08c1603418243b6457bef5ede37593d75d8d40edc543381" {}
            event = "RIHS01_64d2babc068065d4a38c2e7fce7b74adb0ff9ec22274d94a5ea73d4b01a32785"
        }

        /// Writes what is in memory.
        service Snapshot = "RIHS01_0c8bc7656ce18075ff42f2b2296726cbf9b3bb2690289993f1eb99acb9290dcc" {
            request SnapshotRequest = "RIHS01_337de25c6048a759f0097d9558b51c770e343480adf12c2f96493c5c3f87eb83" {}
            response SnapshotResponse = "RIHS01_056a95e36ce7880e74f6647e38257bac1fc7995b885043c0dc270b454214090b" {
                success: bool,
            }
            event = "RIHS01_44c10bab971029b9a1ede036f832c07eb86aae7e3363abeaf6c91041f506615f"
        }

        /// Begins a new part.
        service SplitBagfile = "RIHS01_7e617148bb4bcd1feffcffea546caf0c23de6a1f94201625a4167f73bc8cea15" {
            request SplitBagfileRequest = "RIHS01_9918ae60556a6e2acce55c52f4755aa0d52ac69300aa7dac283b56008f271bdc" {}
            response SplitBagfileResponse = "RIHS01_a3da7835052da434e306631df08cc3efb919f82610f23d9b382795a464a23867" {}
            event = "RIHS01_c26e13becb7b5de4c043691ae12c47f32eee81ccd9200c5980755436cf8dead4"
        }

        /// Ends the recording, since Lyrical.
        service Stop = "RIHS01_850e221df0c7d2a552842c2712987c33efd9e469699861782ed62fb319ccb536" {
            request StopRequest = "RIHS01_2ba13fee320757e55d4c44f1de0a13e6bb4511968a2aec7f015436e1e137674e" {}
            response StopResponse = "RIHS01_983be924a9344f450ec0b34695bab924df6f01a7380084a239f5748614c18a04" {
                return_code: i32,
                error_string: String,
            }
            event = "RIHS01_54fc7c60a7a06d5558cb657ebded454b41e3a3c416b889b9de7f80b4f2620f40"
        }
    }
}
