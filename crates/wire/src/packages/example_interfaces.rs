//! `example_interfaces`: small types for examples and tests.

/// Messages.
pub mod msg {
    use crate::macros::messages;

    messages! { "example_interfaces/msg/";
        /// One truth value.
        struct Bool = "RIHS01_4765c142500f8fd4e1a32fb3edd7b7d9d822a16ec270445f5120e772c5f9aed5" {
            data: bool,
        }

        /// One octet.
        struct Byte = "RIHS01_f014e0424be54b8ba7c35490aea4198be92df1de4e88f4e19a2fbbce2e020bb9" {
            data: u8,
        }

        /// Octets with the shape they are to be read in.
        struct ByteMultiArray = "RIHS01_257fc3429b3c4dd0aea678c234f543665d1144b396f82c7ee60fed151e1dace3" {
            layout: MultiArrayLayout,
            data: Vec<u8>,
        }

        /// One 8-bit character.
        struct Char = "RIHS01_320dcd57e1183fb08463cc3ab50bf7e5ce0ecee39f64d15a9e9eeca3384c91a5" {
            data: u8,
        }

        /// Carries nothing but the fact that it was sent.
        struct Empty = "RIHS01_73c22a7341eeccf8ef504a991e60d4078223f0931a5d5d212800e7c978903c58" {}

        /// One single precision number.
        struct Float32 = "RIHS01_6a112d9235f8e8088d7a2bc77cb955341ac0d5c9870bdc592651a4186bb246f3" {
            data: f32,
        }

        /// Single precision numbers with the shape they are to be read in.
        struct Float32MultiArray = "RIHS01_8705278e8d206a9711133794ce6466281e9698138331c4b3d91e6cc9e9dfee26" {
            layout: MultiArrayLayout,
            data: Vec<f32>,
        }

        /// One double precision number.
        struct Float64 = "RIHS01_74c137b7930c26339425a95fcfab441199bc41e0e572d3a0c9e95badd72b50da" {
            data: f64,
        }

        /// Double precision numbers with the shape they are to be read in.
        struct Float64MultiArray = "RIHS01_62a0985e7920b7bc489d1392f08c06ba0080fff5b8eaa09b27dcac122f50ad95" {
            layout: MultiArrayLayout,
            data: Vec<f64>,
        }

        /// One integer.
        struct Int16 = "RIHS01_332d94306732e4e35da38e5ae744ff35bbdaeca300908dc43488d3a844687cd6" {
            data: i16,
        }

        /// Integers with the shape they are to be read in.
        struct Int16MultiArray = "RIHS01_d663e739410479619bfb7b9b94b0a764998acffadb8b7f5b200affa87b7ffdd2" {
            layout: MultiArrayLayout,
            data: Vec<i16>,
        }

        /// One integer.
        struct Int32 = "RIHS01_5cd04cd7f3adb9d6c6064c316047b24c76622eb89144f300b536d657fd55e652" {
            data: i32,
        }

        /// Integers with the shape they are to be read in.
        struct Int32MultiArray = "RIHS01_b347aff8e38e2ce3f7f4023db7922d2d4abb9d593b03c40b1427640c26595bfa" {
            layout: MultiArrayLayout,
            data: Vec<i32>,
        }

        /// One integer.
        struct Int64 = "RIHS01_1b3b9a6502f560d079520c73c685a9550e5a1838d2cefd537fe0aba75a3639a0" {
            data: i64,
        }

        /// Integers with the shape they are to be read in.
        struct Int64MultiArray = "RIHS01_ebce42c0d2b81bc5309deb0b2d83e30236aeb4899aea3cc7ddd18787af39c94a" {
            layout: MultiArrayLayout,
            data: Vec<i64>,
        }

        /// One integer.
        struct Int8 = "RIHS01_2e9ef643d84ff37840fe787d1269aa06268960e294f4a0f5eb1e9d4eb21cbb57" {
            data: i8,
        }

        /// Integers with the shape they are to be read in.
        struct Int8MultiArray = "RIHS01_6d26932aefc0e5c0c473613376338609bac9925e3527dc4e8fab6b6783b6d680" {
            layout: MultiArrayLayout,
            data: Vec<i8>,
        }

        /// One dimension of a multi-array: elements along it and elements per step.
        struct MultiArrayDimension = "RIHS01_a785cb9839e177e3eb760260139a919fec87821edc3314c592f2725abbf0bfcd" {
            label: std::string::String,
            size: u32,
            stride: u32,
        }

        /// Shape of a multi-array, outermost dimension first.
        struct MultiArrayLayout = "RIHS01_ba42ea30074e5826a1e91f70f3660dda2996937169487f877fc20a8a402e2c27" {
            dim: Vec<MultiArrayDimension>,
            data_offset: u32,
        }

        /// One text.
        struct String = "RIHS01_5509d866a579951f2fc6c19577c32605ba16f308cae7b498341d79536d4eb06b" {
            data: std::string::String,
        }

        /// One integer.
        struct UInt16 = "RIHS01_e123d0a691fa0ce58b682f1a4eee55137dd3f20c81665f0c556f53596c7fb377" {
            data: u16,
        }

        /// Integers with the shape they are to be read in.
        struct UInt16MultiArray = "RIHS01_507f6456c1965ef6eab8a9cfa8860bd484e1b7039b4c4ea2c75c648182fceade" {
            layout: MultiArrayLayout,
            data: Vec<u16>,
        }

        /// One integer.
        struct UInt32 = "RIHS01_e86cccba586f30c16498f3ccd3550a764b255239a6142be3a4d7a2fa9a43515c" {
            data: u32,
        }

        /// Integers with the shape they are to be read in.
        struct UInt32MultiArray = "RIHS01_0683176c523a116c76141c6d4abd150dbff492b72185f1260ce38a18a35aafcf" {
            layout: MultiArrayLayout,
            data: Vec<u32>,
        }

        /// One integer.
        struct UInt64 = "RIHS01_6a3f8548c5818b7add62dd6cbbd840fd1ab17fbf9d73cad6690557b7326d8908" {
            data: u64,
        }

        /// Integers with the shape they are to be read in.
        struct UInt64MultiArray = "RIHS01_c05a348bd887aac76a947c901f67f93bf9a7fa14b28dce02eb495dadeb8842e4" {
            layout: MultiArrayLayout,
            data: Vec<u64>,
        }

        /// One integer.
        struct UInt8 = "RIHS01_9255b6d0dd98f5b573afbff223131279b788ac45cf051fb462c12dd9a30f4061" {
            data: u8,
        }

        /// Integers with the shape they are to be read in.
        struct UInt8MultiArray = "RIHS01_7a49ef5ed9b7182488303b4027d54719ba7266e776bd446dac30e79b56fb0a71" {
            layout: MultiArrayLayout,
            data: Vec<u8>,
        }
    }
}

/// Services.
pub mod srv {
    use crate::macros::services;

    services! { "example_interfaces/srv/";
        /// Adds two integers.
        service AddTwoInts = "RIHS01_e118de6bf5eeb66a2491b5bda11202e7b68f198d6f67922cf30364858239c81a" {
            request AddTwoIntsRequest = "RIHS01_000c5fd92d6b2e1a05949348f584d6d652adea1e92d691792011ac2273508302" {
                a: i64,
                b: i64,
            }
            response AddTwoIntsResponse = "RIHS01_de5c030d4af33cba2749310b249737b631594703f9300495f48bffb2b44dcc2f" {
                sum: i64,
            }
            event = "RIHS01_32c1d140259c71e5c355115942bcb31df98b4330e4d906b1b75ccb1c9b3ce6c8"
        }

        /// Switches something on or off.
        service SetBool = "RIHS01_a69782e5631b12e15c8e218410de1685bbf13e382718295adad14037a24afbe8" {
            request SetBoolRequest = "RIHS01_db31a9146de9f58c3196ef92ebc43abc460199adfa57ece51550f37544c4ee58" {
                data: bool,
            }
            response SetBoolResponse = "RIHS01_fd35d6974b0ede7fad127f600619719eb7caf8b0ff8b02a4a5a103900479a619" {
                success: bool,
                message: String,
            }
            event = "RIHS01_0272d5150675582af790e0fbff2bb40112f61fcc62651ffff02074ec98b4dd2c"
        }

        /// Starts something.
        service Trigger = "RIHS01_cfeeee47f8105dd7685e4c92d46d4074669cb1c477402be1dea37486542a69e0" {
            request TriggerRequest = "RIHS01_2521571bb7fb4de94da045720b069b2859084c689ee27382f48414ebf4dd3a8d" {}
            response TriggerResponse = "RIHS01_3faa1e36b834f5705a7e9aa990c4720c082f0630bf28abedf315cc69f01dc8fc" {
                success: bool,
                message: String,
            }
            event = "RIHS01_37216e82646e85e9dacb76811000fc4c5e303dd4ef29b4151c189a3fa734296f"
        }
    }
}

/// Actions.
pub mod action {
    use crate::macros::actions;

    actions! { "example_interfaces/action/";
        /// Computes a Fibonacci sequence up to an order.
        action Fibonacci = "RIHS01_9508051da1ea4658de144b09bd0690ff3de52104683d847aed764d2915906f51" {
            goal FibonacciGoal = "RIHS01_226cb437e4355dcd3e914f930382a3b0cc1da81545bd319ed554e95a03255f51" {
                order: i32,
            }
            result FibonacciResult = "RIHS01_fea81394f25aa4502217953f1a021fb750e79c10bbd43f13dd94632da6569649" {
                sequence: Vec<i32>,
            }
            feedback FibonacciFeedback = "RIHS01_2b12e37361da6f408d4c85bc24a18de64333f29082f2ca34b5ee33dc4c8b42a9" {
                sequence: Vec<i32>,
            }
            implied {
                SEND_GOAL "_SendGoal" = "RIHS01_d1a57fb2a4afe8c21e34fb10db206f16ce6729b28531141472df92277c55b557"
                SEND_GOAL_REQUEST "_SendGoal_Request" = "RIHS01_3d088942b413247db536576f0286768c6be8fcd5d0c9a5d544f359fba090a238"
                SEND_GOAL_RESPONSE "_SendGoal_Response" = "RIHS01_d8c07bb3d5b766fe4b43159c9a5222af5214e2fcc29229b991d826166c512be1"
                SEND_GOAL_EVENT "_SendGoal_Event" = "RIHS01_d5e5b312dbf847307b0e876c2ecc9d80258e95b0d17f8f7bfc581c4a29c83484"
                GET_RESULT "_GetResult" = "RIHS01_1b0de0d5d29dc955d92f546706568428632771db13ec84c15ec1c1a59f424a57"
                GET_RESULT_REQUEST "_GetResult_Request" = "RIHS01_c8a4f5e7d13b81286ee1043e2ecd084281cecf1ff06aaa799464f5f15479f003"
                GET_RESULT_RESPONSE "_GetResult_Response" = "RIHS01_6021dc98ab9b4bbe395e48aa4de81ee5f68eb570f88358affcc648146668b24f"
                GET_RESULT_EVENT "_GetResult_Event" = "RIHS01_ac4e9cdb954c2e192c9f0753d46f59ab6f0101d5fb5b9542fd8ab2906e40c4d9"
                FEEDBACK_MESSAGE "_FeedbackMessage" = "RIHS01_c1de71afd52e49a89c53d8262366884185bc0a02f78ce051c4e46b0a7fe59bb2"
            }
        }
    }
}
