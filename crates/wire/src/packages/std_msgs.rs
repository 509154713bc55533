//! `std_msgs`: plain values.

/// Messages.
pub mod msg {
    use crate::builtin_interfaces::msg::Time;
    use crate::macros::messages;

    messages! { "std_msgs/msg/";
        /// One truth value.
        struct Bool = "RIHS01_feb91e995ff9ebd09c0cb3d2aed18b11077585839fb5db80193b62d74528f6c9" {
            data: bool,
        }

        /// One octet.
        struct Byte = "RIHS01_41e1a3345f73fe93ede006da826a6ee274af23dd4653976ff249b0f44e3e798f" {
            data: u8,
        }

        /// Octets with the shape they are to be read in.
        struct ByteMultiArray = "RIHS01_972fec7f50ab3c1d06783c228e79e8a9a509021708c511c059926261ada901d4" {
            layout: MultiArrayLayout,
            data: Vec<u8>,
        }

        /// One 8-bit character.
        struct Char = "RIHS01_3ad2d04dd29ba19d04b16659afa3ccaedd691914b02a64e82e252f2fa6a586a9" {
            data: u8,
        }

        /// A colour; each part from 0 to 1.
        struct ColorRGBA = "RIHS01_77a7a5b9ae477306097665106e0413ba74440245b1f3d0c6d6405fe5c7813fe8" {
            r: f32,
            g: f32,
            b: f32,
            a: f32,
        }

        /// Carries nothing but the fact that it was sent.
        struct Empty = "RIHS01_20b625256f32d5dbc0d04fee44f43c41e51c70d3502f84b4a08e7a9c26a96312" {}

        /// One single precision number.
        struct Float32 = "RIHS01_7170d3d8f841f7be3172ce5f4f59f3a4d7f63b0447e8b33327601ad64d83d6e2" {
            data: f32,
        }

        /// Single precision numbers with the shape they are to be read in.
        struct Float32MultiArray = "RIHS01_0599f6f85b4bfca379873a0b4375a0aca022156bd2d7021275d116ed1fa8bfe0" {
            layout: MultiArrayLayout,
            data: Vec<f32>,
        }

        /// One double precision number.
        struct Float64 = "RIHS01_705ba9c3d1a09df43737eb67095534de36fd426c0587779bda2bc51fe790182a" {
            data: f64,
        }

        /// Double precision numbers with the shape they are to be read in.
        struct Float64MultiArray = "RIHS01_1025ddc6b9552d191f89ef1a8d2f60f3d373e28b283d8891ddcc974e8c55397f" {
            layout: MultiArrayLayout,
            data: Vec<f64>,
        }

        /// When and in which coordinate frame the data holds.
        struct Header = "RIHS01_f49fb3ae2cf070f793645ff749683ac6b06203e41c891e17701b1cb597ce6a01" {
            stamp: Time,
            frame_id: std::string::String,
        }

        /// One integer.
        struct Int16 = "RIHS01_1dcc3464e47c288a55f943a389d337cdb06804de3f5cd7a266b0de718eee17e5" {
            data: i16,
        }

        /// Integers with the shape they are to be read in.
        struct Int16MultiArray = "RIHS01_b58810e8e5b90fb19a5062469eb8409f5ab11a446d60de7157a1457e52a076ce" {
            layout: MultiArrayLayout,
            data: Vec<i16>,
        }

        /// One integer.
        struct Int32 = "RIHS01_b6578ded3c58c626cfe8d1a6fb6e04f706f97e9f03d2727c9ff4e74b1cef0deb" {
            data: i32,
        }

        /// Integers with the shape they are to be read in.
        struct Int32MultiArray = "RIHS01_84a7346323525d1b4dfca899df3820f245e54009dac5a6b69217d14fdefd1701" {
            layout: MultiArrayLayout,
            data: Vec<i32>,
        }

        /// One integer.
        struct Int64 = "RIHS01_8cd1048c2f186b6bd9a92472dc1ce51723c0833a221e2b7aecfff111774f4b49" {
            data: i64,
        }

        /// Integers with the shape they are to be read in.
        struct Int64MultiArray = "RIHS01_e60f9fe34d697f0939ad49d33158693c1277fbac0e2f04b7c2995dc21c89b422" {
            layout: MultiArrayLayout,
            data: Vec<i64>,
        }

        /// One integer.
        struct Int8 = "RIHS01_26525065a403d972cb672f0777e333f0c799ad444ae5fcd79e43d1e73bd0f440" {
            data: i8,
        }

        /// Integers with the shape they are to be read in.
        struct Int8MultiArray = "RIHS01_f21998d4b492abd63330765d75d5831238d400740386f651f13a872a4d2188db" {
            layout: MultiArrayLayout,
            data: Vec<i8>,
        }

        /// One dimension of a multi-array: elements along it and elements per step.
        struct MultiArrayDimension = "RIHS01_5e773a60a4c7fc8a54985f307c7837aa2994252a126c301957a24e31282c9cbe" {
            label: std::string::String,
            size: u32,
            stride: u32,
        }

        /// Shape of a multi-array, outermost dimension first.
        struct MultiArrayLayout = "RIHS01_4c66e6f78e740ac103a94cf63259f968e48c617e7699e829b63c21a5cb50dac6" {
            dim: Vec<MultiArrayDimension>,
            data_offset: u32,
        }

        /// One text.
        struct String = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18" {
            data: std::string::String,
        }

        /// One integer.
        struct UInt16 = "RIHS01_08a406e4b022bc22e907f985d6a9e9dd1d4fbecae573549cf49350113e7757b1" {
            data: u16,
        }

        /// Integers with the shape they are to be read in.
        struct UInt16MultiArray = "RIHS01_94fe73428ec63baecc774f8fb82406123e9291cf728f1b7c91caf5335129492b" {
            layout: MultiArrayLayout,
            data: Vec<u16>,
        }

        /// One integer.
        struct UInt32 = "RIHS01_a5c874829b752bc5fa190024b0ad76f578cc278271e855c7d02a818b3516fb4a" {
            data: u32,
        }

        /// Integers with the shape they are to be read in.
        struct UInt32MultiArray = "RIHS01_6c2577c7ad3cbdcc2164a41c12f1d5ad314ea320f3fb1ee47e78019fe16bb5b0" {
            layout: MultiArrayLayout,
            data: Vec<u32>,
        }

        /// One integer.
        struct UInt64 = "RIHS01_fbdc52018fc13755dce18024d1a671c856aa8b4aaf63adfb095b608f98e8c943" {
            data: u64,
        }

        /// Integers with the shape they are to be read in.
        struct UInt64MultiArray = "RIHS01_fc1c685c2f76bdc6983da025cb25d2db5fb5157b059e300f6d957d86f981b366" {
            layout: MultiArrayLayout,
            data: Vec<u64>,
        }

        /// One integer.
        struct UInt8 = "RIHS01_6138bd83d8c3569cb80a667db03cfc1629f529fee79d944c39c34e352e72f010" {
            data: u8,
        }

        /// Integers with the shape they are to be read in.
        struct UInt8MultiArray = "RIHS01_5687e861b8d307a5e48b7515467ae7a5fc2daf805bd0ce6d8e9e604bade9f385" {
            layout: MultiArrayLayout,
            data: Vec<u8>,
        }
    }
}
