//! `rcl_interfaces`: parameters, logs and loggers.

/// Messages.
pub mod msg {
    use crate::builtin_interfaces::msg::Time;
    use crate::cdr::BoundedVec;
    use crate::macros::messages;

    messages! { "rcl_interfaces/msg/";
        /// Allowed values of a floating point parameter; step 0 means any.
        struct FloatingPointRange = "RIHS01_e6af23a23c177fee5f3075c8b1e435162a9b63c863d78c06017460b49684262d" {
            from_value: f64,
            to_value: f64,
            step: f64,
        }

        /// Allowed values of an integer parameter; step 0 means any.
        struct IntegerRange = "RIHS01_f7b7fdc0f65f07702e099218e13288c3963bcb9345bde78b560e6cd19800fc5a" {
            from_value: i64,
            to_value: i64,
            step: u64,
        }

        /// Parameter names and the prefixes found below the request.
        struct ListParametersResult = "RIHS01_237ae3428413dcbcfb452b510c42355f3a2b021dc091afa3e18526d57022f1cd" {
            names: Vec<String>,
            prefixes: Vec<String>,
        }

        /// One line of /rosout.
        struct Log = "RIHS01_e28ce254ca8abc06abf92773b74602cdbf116ed34fbaf294fb9f81da9f318eac" {
            stamp: Time,
            level: u8,
            name: String,
            msg: String,
            file: String,
            function: String,
            line: u32,
        } const {
            DEBUG: u8 = 10,
            INFO: u8 = 20,
            WARN: u8 = 30,
            ERROR: u8 = 40,
            FATAL: u8 = 50,
        }

        /// Severity threshold of one logger.
        struct LoggerLevel = "RIHS01_95785cc42f048ab4f395af65035aeaf2181d8e1c7a44edb8ad4558445fdb43c0" {
            name: String,
            level: u32,
        } const {
            LOG_LEVEL_UNKNOWN: u8 = 0,
            LOG_LEVEL_DEBUG: u8 = 10,
            LOG_LEVEL_INFO: u8 = 20,
            LOG_LEVEL_WARN: u8 = 30,
            LOG_LEVEL_ERROR: u8 = 40,
            LOG_LEVEL_FATAL: u8 = 50,
        }

        /// A parameter's name with its value.
        struct Parameter = "RIHS01_ddfe6442cffc462317adb5c92536a7b6dd55858c5c3e1e328165a6b73c2831af" {
            name: String,
            value: ParameterValue,
        }

        /// What a parameter is for and which values it takes.
        struct ParameterDescriptor = "RIHS01_52175dbfda6c51153101d33d2a9da05743f66f02d5ab2ca9ec4709b46b73d704" {
            name: String,
            r#type: u8,
            description: String,
            additional_constraints: String,
            read_only: bool,
            dynamic_typing: bool,
            floating_point_range: BoundedVec<FloatingPointRange, 1>,
            integer_range: BoundedVec<IntegerRange, 1>,
        }

        /// Parameters of one node that came, changed or went.
        struct ParameterEvent = "RIHS01_043e627780fcad87a22d225bc2a037361dba713fca6a6b9f4b869a5aa0393204" {
            stamp: Time,
            node: String,
            new_parameters: Vec<Parameter>,
            changed_parameters: Vec<Parameter>,
            deleted_parameters: Vec<Parameter>,
        }

        /// Descriptors of parameters that came, changed or went.
        struct ParameterEventDescriptors = "RIHS01_456f90915d72ef69379e702ef3ba2a115098ff677eab9c0080fa11239c6b147e" {
            new_parameters: Vec<ParameterDescriptor>,
            changed_parameters: Vec<ParameterDescriptor>,
            deleted_parameters: Vec<ParameterDescriptor>,
        }

        /// Codes for ParameterValue.type and ParameterDescriptor.type.
        struct ParameterType = "RIHS01_df29ed057a834862187be24dd187d981790ff3ea6502f4cd27b432cbc42c6d46" {} const {
            PARAMETER_NOT_SET: u8 = 0,
            PARAMETER_BOOL: u8 = 1,
            PARAMETER_INTEGER: u8 = 2,
            PARAMETER_DOUBLE: u8 = 3,
            PARAMETER_STRING: u8 = 4,
            PARAMETER_BYTE_ARRAY: u8 = 5,
            PARAMETER_BOOL_ARRAY: u8 = 6,
            PARAMETER_INTEGER_ARRAY: u8 = 7,
            PARAMETER_DOUBLE_ARRAY: u8 = 8,
            PARAMETER_STRING_ARRAY: u8 = 9,
        }

        /// A tagged union: type says which one of the other fields counts.
        struct ParameterValue = "RIHS01_115fc089a387e23c7ecd3525c9189c379109119d6ab82e8dfbde0fdf6a7f9b68" {
            r#type: u8,
            bool_value: bool,
            integer_value: i64,
            double_value: f64,
            string_value: String,
            byte_array_value: Vec<u8>,
            bool_array_value: Vec<bool>,
            integer_array_value: Vec<i64>,
            double_array_value: Vec<f64>,
            string_array_value: Vec<String>,
        }

        /// Whether a logger took its new level, and why not.
        struct SetLoggerLevelsResult = "RIHS01_9316e5e679a5b72d2dd7fd80c539bae9e106fa0890a06dc5da3a8177a3ff6909" {
            successful: bool,
            reason: String,
        }

        /// Whether a parameter took its new value, and why not.
        struct SetParametersResult = "RIHS01_cfcc0fb0371ee5159b403960ef4300f8f9d2f1fd6117c8666b7f9654d528a9b1" {
            successful: bool,
            reason: String,
        }
    }
}

/// Services.
pub mod srv {
    use crate::rcl_interfaces::msg::{ListParametersResult, LoggerLevel, Parameter, ParameterDescriptor, ParameterValue, SetLoggerLevelsResult, SetParametersResult};
    use crate::macros::services;

    services! { "rcl_interfaces/srv/";
        /// Asks what parameters are for and which values they take.
        service DescribeParameters = "RIHS01_845b484d71eb0673dae682f2e3ba3c4851a65a3dcfb97bddd82c5b57e91e4cff" {
            request DescribeParametersRequest = "RIHS01_05dd1c2bc87dec2627105c8070d6f9725c781a4f2ab852975bf105462b82b644" {
                names: Vec<String>,
            }
            response DescribeParametersResponse = "RIHS01_ad6747319613c6131589e062e095b469a46cc764f7d0f12a001a49e6cd893995" {
                descriptors: Vec<ParameterDescriptor>,
            }
            event = "RIHS01_3deba64c035093033c690184834441551a53128ea2539f71f2596fbc4ed9de43"
        }

        /// Asks for the thresholds of loggers.
        service GetLoggerLevels = "RIHS01_03bf1bebd0d6514c7ed0ba7c5e08dc9f2f39c759fe99e1e30ea4157d7674f72d" {
            request GetLoggerLevelsRequest = "RIHS01_490ace424a5f5b14cb4e1e95030d7fe366d8df0fd9fe4d03b44d6009504fd2cc" {
                names: Vec<String>,
            }
            response GetLoggerLevelsResponse = "RIHS01_228685d350911d213047abe756f5bf566d2f76b359c4e9fac16e5ef652aff910" {
                levels: Vec<LoggerLevel>,
            }
            event = "RIHS01_c835a586d832cb17c01c512f8ffd449fd5384f5bd33fb44d76329d875d1f0875"
        }

        /// Asks for the types of parameters, as codes of ParameterType.
        service GetParameterTypes = "RIHS01_da199c878688b3e530bdfe3ca8f74cb9fa0c303101e980a9e8f260e25e1c80ca" {
            request GetParameterTypesRequest = "RIHS01_87d7ec5ef545d4daa289d500025d31fb2437bc8b8365ca367161c4dac4be33fd" {
                names: Vec<String>,
            }
            response GetParameterTypesResponse = "RIHS01_ac1335dce67c478e669434f6ac2fbff34fcd529580f272d3006785ba8b54e47f" {
                types: Vec<u8>,
            }
            event = "RIHS01_9516adca0cc885d46a59c2362fb8eb5f4906b046518266f8c645b454b0dddc60"
        }

        /// Asks for the values of parameters.
        service GetParameters = "RIHS01_bf9803d5c74cf989a5de3e0c2e99444599a627c7ff75f97b8c05b01003675cbc" {
            request GetParametersRequest = "RIHS01_135a9e1c3d7cebef792f6687d7ddf99949b21a0bd9a320d863a9110a3f5cf4d6" {
                names: Vec<String>,
            }
            response GetParametersResponse = "RIHS01_9fa773b46e39cc5d02db6224d8fd520bb9caeeffc2b27c96c1e59431baba9f2a" {
                values: Vec<ParameterValue>,
            }
            event = "RIHS01_84eeb9247b09067c35bd8750d5c8555b700e394a616737c4624f15ae02e64c4d"
        }

        /// Lists parameters below prefixes down to a depth.
        service ListParameters = "RIHS01_3e6062bfbb27bfb8730d4cef2558221f51a11646d78e7bb30a1e83afac3aad9d" {
            request ListParametersRequest = "RIHS01_a1b0b5d6b967a5b8ac5bc8563c3ea678f349e312a6a4967227c5a96bc5ce38df" {
                prefixes: Vec<String>,
                depth: u64,
            } const {
                DEPTH_RECURSIVE: u64 = 0,
            }
            response ListParametersResponse = "RIHS01_31b937b82de3612426be79f231e386259f97e8dc843e3f2845288b4bfa296bdd" {
                result: ListParametersResult,
            }
            event = "RIHS01_89c5b5aaf68ec925ae9bbc5569ee21de82959b4d1496dbd498792ad825b9b292"
        }

        /// Sets the thresholds of loggers.
        service SetLoggerLevels = "RIHS01_3ff86cb4e91fbf9abae15c234ecc874448de6ece8e193401c077cf116e4f6d78" {
            request SetLoggerLevelsRequest = "RIHS01_4e7768e0f4c749205f35bc05449f83fad18c42de52c16b1934d66c2f68ffd862" {
                levels: Vec<LoggerLevel>,
            }
            response SetLoggerLevelsResponse = "RIHS01_ba51739027e57cb9120015737f4618579684047d862b2b16a76bc399d987d6d3" {
                results: Vec<SetLoggerLevelsResult>,
            }
            event = "RIHS01_ce7d563c54edbff5addfea9ae8f8bcb7ba755673cdc0761064ec0d4adf18b6d9"
        }

        /// Sets parameters one by one.
        service SetParameters = "RIHS01_56eed9a67e169f9cb6c1f987bc88f868c14a8fc9f743a263bc734c154015d7e0" {
            request SetParametersRequest = "RIHS01_130d46386b7e84ea9ecf60608a4d83cbe5e5cb7c6cc5b712b7a4e3a6c254e932" {
                parameters: Vec<Parameter>,
            }
            response SetParametersResponse = "RIHS01_7a0e8140a0b8d98308fa81a5403a766e610af29a239caf54b7553227906fc266" {
                results: Vec<SetParametersResult>,
            }
            event = "RIHS01_5060f52369bcff7f9dbd6eca21ee521859e471e71b33a8a8df26d5236fe54a80"
        }

        /// Sets all parameters or none.
        service SetParametersAtomically = "RIHS01_0e192ef259c07fc3c07a13191d27002222e65e00ccec653ca05e856f79285fcd" {
            request SetParametersAtomicallyRequest = "RIHS01_db0bd950ed5ed867a0e90b225e44dea382d762c0762ff3e0ee842190042a59e5" {
                parameters: Vec<Parameter>,
            }
            response SetParametersAtomicallyResponse = "RIHS01_31b1a38c5b0b9d893ee24da45f69638f4561c78461d82d52750f429b534502b8" {
                result: SetParametersResult,
            }
            event = "RIHS01_42fc0821e6e8fcff2b150cefc7d8269f0ce65139e1dc715b15267a4bcf63a189"
        }
    }
}
