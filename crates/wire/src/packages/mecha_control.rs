//! `mecha_control`: pedestal, doll and lantern.

/// Messages.
pub mod msg {
    use crate::macros::messages;

    messages! { "mecha_control/msg/";
        /// Wanted motor positions (degrees) and cylinder states (true: extended).
        struct ActuatorCommands = "RIHS01_0c79ffc69f8fb68448d8b1dd4d6c06fb251dc8c2d12d6de3acbd01e79dd49512" {
            motor_positions: Vec<f64>,
            cylinder_states: Vec<bool>,
        }

        /// Pedestal command.
        struct DaizaCmdType = "RIHS01_43e0e60843e51ab984623d0b0afe205128149c7627d9145af42ffe26f0bb22bf" {
            command: u8,
        } const {
            STOP: u8 = 0,
            READY: u8 = 1,
            EXPAND: u8 = 2,
            CONTRACT: u8 = 3,
            CLAMP: u8 = 4,
            UNCLAMP: u8 = 5,
            EXPAND_AND_UNCLAMP: u8 = 6,
            CLAMP_AND_CONTRACT: u8 = 7,
            EXPAND_AND_PLACE: u8 = 8,
            EXPAND_AND_PLACE_AND_CONTRACT: u8 = 9,
        }

        /// Doll command.
        struct HinaCmdType = "RIHS01_c93814f02660bd9554d5d17d963a5a5d5046a4ce3e117a56b286dfeea2f5ac33" {
            command: u8,
        } const {
            STOP: u8 = 0,
            READY: u8 = 1,
            UP: u8 = 2,
            DOWN: u8 = 3,
            POS_CARRY: u8 = 4,
            POS_TAKE: u8 = 5,
            POS_PLACE: u8 = 6,
            GUIDE_EXPAND: u8 = 7,
            GUIDE_CONTRACT: u8 = 8,
            LATCH_UNLOCK: u8 = 9,
            LATCH_UNLOCK_1: u8 = 10,
            LATCH_UNLOCK_2: u8 = 11,
            DOWN_AND_TAKE: u8 = 12,
            UP_AND_CARRY: u8 = 13,
            UP_AND_PLACE: u8 = 14,
        }

        /// A command for one of the mechanisms, or for several.
        struct MechAction = "RIHS01_3741c23f21c183518d81bbefc5842ae6cb96099deb645d3f86f3c4c209ad1935" {
            r#type: u8,
            daiza: DaizaCmdType,
            hina: HinaCmdType,
            bonbori_enable: bool,
        } const {
            NONE: u8 = 0,
            DAIZA: u8 = 1,
            HINA: u8 = 2,
            BONBORI: u8 = 3,
            COMPLEX: u8 = 4,
        }

        /// Wanted phase of pedestal and doll (0 prepare, 1 deploy, 2 collect, 3 place), and the lantern.
        struct MechaState = "RIHS01_8d2a5bd247d8e0f982f0320e788d528091ba313c2541cb94833be86d17a30d9b" {
            daiza_state: u8,
            hina_state: u8,
            bonbori_state: bool,
        }

        /// A place on the field and the phase wanted there.
        struct PointAndMechaState = "RIHS01_5bcc832db50e1c1c70ee204c2df5e0b375b8313980740b1913757f837ba455c1" {
            x: f64,
            y: f64,
            angle: f64,
            command: MechaState,
        }

        /// A path with the phases wanted along it.
        struct PointAndMechaStateArray = "RIHS01_b60f5fc4ef58324371c5a7b16b4e283f1926278b2b409eae51455d6ae710e1c3" {
            points: Vec<PointAndMechaState>,
        }

        /// Measured angles (degrees), limit switches (true: pressed) and cylinders (true: extended).
        struct SensorStates = "RIHS01_a7c2495e33fdd2f2f027798fbf1eed3ab574194c9f4702ac0c6742e09ed42437" {
            potentiometer_angles: Vec<f64>,
            limit_switch_states: Vec<bool>,
            cylinder_states: Vec<bool>,
        }
    }
}

/// Actions.
pub mod action {
    use crate::macros::actions;

    actions! { "mecha_control/action/";
        /// Runs one pedestal command.
        action DaizaCmd = "RIHS01_e82723529dd7db675851753194fca465174e845c642b84596d74ffc67922965b" {
            goal DaizaCmdGoal = "RIHS01_c1768c453ba4c23b18692ac2a22eb862c884a2ad67b9b282f7d1580174dd0239" {
                command: u8,
            } const {
                STOP: u8 = 0,
                READY: u8 = 1,
                EXPAND: u8 = 2,
                CONTRACT: u8 = 3,
                CLAMP: u8 = 4,
                UNCLAMP: u8 = 5,
                EXPAND_AND_UNCLAMP: u8 = 6,
                CLAMP_AND_CONTRACT: u8 = 7,
                EXPAND_AND_PLACE: u8 = 8,
                EXPAND_AND_PLACE_AND_CONTRACT: u8 = 9,
            }
            result DaizaCmdResult = "RIHS01_a43f26e6cd02bbe681e4b705c4d1eeb332b899ba8f271b2e4b1883540f36f231" {
                result: u8,
            } const {
                OK: u8 = 0,
                ABORTED: u8 = 1,
                ERR_UNEXPECTED_ARG: u8 = 2,
                ERR_CANNOT_PROCESS: u8 = 3,
                ERR_TIMEOUT: u8 = 4,
            }
            feedback DaizaCmdFeedback = "RIHS01_d76fdfb1bbfd6945d7fa83aa19a7cfbbefb9a813fb05e2a2fc17ae93c2f506ae" {
                feedback: u8,
            } const {
                STOPPING: u8 = 0,
                PREV_ACTION_ABORTED: u8 = 1,
                EXPANDED_AT_EXPAND_AND_UNCLAMP: u8 = 2,
                CLAMPED_AT_CLAMP_AND_CONTRACT: u8 = 3,
                EXPANDED_AT_EXPAND_AND_PLACE: u8 = 4,
                EXPANDED_AT_EXPAND_AND_PLACE_AND_CONTRACT: u8 = 5,
                PLACE_AT_EXPAND_AND_PLACE_AND_CONTRACT: u8 = 6,
            }
            implied {
                SEND_GOAL "_SendGoal" = "RIHS01_136f5cd67b917808e6e033ff1dd592a5324cda9d846cf53c42ebd5fe88d6d1f6"
                SEND_GOAL_REQUEST "_SendGoal_Request" = "RIHS01_02e20a2d75f1003bfcfe0ef319d5a36a5475d1eda3d851dccf44fe051358464e"
                SEND_GOAL_RESPONSE "_SendGoal_Response" = "RIHS01_2a4ff4de64657eb91924aedf8585b98a93d74b374f5c0927539eb7d3485c8071"
                SEND_GOAL_EVENT "_SendGoal_Event" = "RIHS01_e54ab5f01a5b1d06081fc7a58794c5403c29a368d7870735228bcec83a75cc14"
                GET_RESULT "_GetResult" = "RIHS01_04534b9fe5e47acc3716ab837831f9f49d31c9c044383feb800c7f4560fbba60"
                GET_RESULT_REQUEST "_GetResult_Request" = "RIHS01_8f622ef59ab6c111e76b01125205de989db67d8c5d4dd648dee8c376a2fb01bb"
                GET_RESULT_RESPONSE "_GetResult_Response" = "RIHS01_1b1a53332c179e294a3445d5dd729d74ffd8d5365fc22441725db51aab950288"
                GET_RESULT_EVENT "_GetResult_Event" = "RIHS01_b7e1fa78a82455d9af1da3b5fdeb9d9dff05b13fb8a0bd4db9c452402f21e732"
                FEEDBACK_MESSAGE "_FeedbackMessage" = "RIHS01_3dbc03493f6df6af78989e99d0ed46379df78ea96ad3ad536ffdaf30c63e02ae"
            }
        }

        /// Runs one doll command.
        action HinaCmd = "RIHS01_04a0f5ce2be8bef00601ae43bef0111869bd71a0cc56fadc186531737e39f347" {
            goal HinaCmdGoal = "RIHS01_68395da754d8f0d1ffcf8fded17d1836d1c6fe3f27315c9ce40b766df9d0e5ba" {
                command: u8,
            } const {
                STOP: u8 = 0,
                READY: u8 = 1,
                UP: u8 = 2,
                DOWN: u8 = 3,
                POS_CARRY: u8 = 4,
                POS_TAKE: u8 = 5,
                POS_PLACE: u8 = 6,
                GUIDE_EXPAND: u8 = 7,
                GUIDE_CONTRACT: u8 = 8,
                LATCH_UNLOCK: u8 = 9,
                LATCH_UNLOCK_1: u8 = 10,
                LATCH_UNLOCK_2: u8 = 11,
                DOWN_AND_TAKE: u8 = 12,
                UP_AND_CARRY: u8 = 13,
                UP_AND_PLACE: u8 = 14,
            }
            result HinaCmdResult = "RIHS01_547087b5228c33c32a8e0f8bf4ffbd04a390126d2b00fc9956ca275df9f13435" {
                result: u8,
            } const {
                OK: u8 = 0,
                ABORTED: u8 = 1,
                ERR_UNEXPECTED_ARG: u8 = 2,
                ERR_CANNOT_PROCESS: u8 = 3,
                ERR_TIMEOUT: u8 = 4,
            }
            feedback HinaCmdFeedback = "RIHS01_048b8c5c0becd5a86eafda82bedbe191b7e561244ec24c26baac438c163effc0" {
                feedback: u8,
            } const {
                STOPPING: u8 = 0,
                PREV_ACTION_ABORTED: u8 = 1,
                DOWN_AT_DOWN_AND_TAKE: u8 = 2,
                UP_AT_UP_AND_CARRY: u8 = 3,
                UP_AT_UP_AND_PLACE: u8 = 4,
            }
            implied {
                SEND_GOAL "_SendGoal" = "RIHS01_1b30c52db44f217ab36b2318feeb1f7487ef4ca2daebcdd64a09ba171494613a"
                SEND_GOAL_REQUEST "_SendGoal_Request" = "RIHS01_2a253b798aaf0adc229559ba63074cbbbb3357908fb3e798113b251b8ef58eb0"
                SEND_GOAL_RESPONSE "_SendGoal_Response" = "RIHS01_608e41e8ddf632523c01ad9dab897c4e6483ca0db7d4a4a95a145d92ffdc8203"
                SEND_GOAL_EVENT "_SendGoal_Event" = "RIHS01_bd17bbf47fa73988b680b96f582c49c48cf308ad9cb60ab2a3eb706fa095c520"
                GET_RESULT "_GetResult" = "RIHS01_de4f84426a6223c2bb56268ca5ebc81751cb431a0d2e2a92c5c148f6b8b3de04"
                GET_RESULT_REQUEST "_GetResult_Request" = "RIHS01_b953d2a76cf8980be1f4549311c038355205743792e541ba1a6800e75d80b94b"
                GET_RESULT_RESPONSE "_GetResult_Response" = "RIHS01_c0a08ee3c42d3459f83a3b0524c5b44679ec1fc451f2c73d3660846b68c40afc"
                GET_RESULT_EVENT "_GetResult_Event" = "RIHS01_a2009f8b76f5be0c33fe0f4bca87276161eb9e79d3ac431c86a0c9689efd4618"
                FEEDBACK_MESSAGE "_FeedbackMessage" = "RIHS01_fb7f4a7f3be0477285ccc54fa9f870a0a0deb493c418ff2a1f9b7dd01e83dcd5"
            }
        }
    }
}
