//! `lifecycle_msgs`: managed nodes.

/// Messages.
pub mod msg {
    use crate::macros::messages;

    messages! { "lifecycle_msgs/msg/";
        /// A state of the managed node state machine.
        struct State = "RIHS01_dd2d02b82f3ebc858e53c431b1e6e91f3ffc71436fc81d0715214ac6ee2107a0" {
            id: u8,
            label: String,
        } const {
            PRIMARY_STATE_UNKNOWN: u8 = 0,
            PRIMARY_STATE_UNCONFIGURED: u8 = 1,
            PRIMARY_STATE_INACTIVE: u8 = 2,
            PRIMARY_STATE_ACTIVE: u8 = 3,
            PRIMARY_STATE_FINALIZED: u8 = 4,
            TRANSITION_STATE_CONFIGURING: u8 = 10,
            TRANSITION_STATE_CLEANINGUP: u8 = 11,
            TRANSITION_STATE_SHUTTINGDOWN: u8 = 12,
            TRANSITION_STATE_ACTIVATING: u8 = 13,
            TRANSITION_STATE_DEACTIVATING: u8 = 14,
            TRANSITION_STATE_ERRORPROCESSING: u8 = 15,
        }

        /// A transition of the managed node state machine, by id or label.
        struct Transition = "RIHS01_c65d7b31ea134cba4f54fc867b817979be799f7452035cd35fac9b7421fb3424" {
            id: u8,
            label: String,
        } const {
            TRANSITION_CREATE: u8 = 0,
            TRANSITION_CONFIGURE: u8 = 1,
            TRANSITION_CLEANUP: u8 = 2,
            TRANSITION_ACTIVATE: u8 = 3,
            TRANSITION_DEACTIVATE: u8 = 4,
            TRANSITION_UNCONFIGURED_SHUTDOWN: u8 = 5,
            TRANSITION_INACTIVE_SHUTDOWN: u8 = 6,
            TRANSITION_ACTIVE_SHUTDOWN: u8 = 7,
            TRANSITION_DESTROY: u8 = 8,
            TRANSITION_ON_CONFIGURE_SUCCESS: u8 = 10,
            TRANSITION_ON_CONFIGURE_FAILURE: u8 = 11,
            TRANSITION_ON_CONFIGURE_ERROR: u8 = 12,
            TRANSITION_ON_CLEANUP_SUCCESS: u8 = 20,
            TRANSITION_ON_CLEANUP_FAILURE: u8 = 21,
            TRANSITION_ON_CLEANUP_ERROR: u8 = 22,
            TRANSITION_ON_ACTIVATE_SUCCESS: u8 = 30,
            TRANSITION_ON_ACTIVATE_FAILURE: u8 = 31,
            TRANSITION_ON_ACTIVATE_ERROR: u8 = 32,
            TRANSITION_ON_DEACTIVATE_SUCCESS: u8 = 40,
            TRANSITION_ON_DEACTIVATE_FAILURE: u8 = 41,
            TRANSITION_ON_DEACTIVATE_ERROR: u8 = 42,
            TRANSITION_ON_SHUTDOWN_SUCCESS: u8 = 50,
            TRANSITION_ON_SHUTDOWN_FAILURE: u8 = 51,
            TRANSITION_ON_SHUTDOWN_ERROR: u8 = 52,
            TRANSITION_ON_ERROR_SUCCESS: u8 = 60,
            TRANSITION_ON_ERROR_FAILURE: u8 = 61,
            TRANSITION_ON_ERROR_ERROR: u8 = 62,
            TRANSITION_CALLBACK_SUCCESS: u8 = 97,
            TRANSITION_CALLBACK_FAILURE: u8 = 98,
            TRANSITION_CALLBACK_ERROR: u8 = 99,
        }

        /// A transition with the states it joins.
        struct TransitionDescription = "RIHS01_c5f1cd4bb1ad2ba0e3329d4ac7015c52a674a72c1faf7974c37a33f4f6048b28" {
            transition: Transition,
            start_state: State,
            goal_state: State,
        }

        /// Tells that a managed node changed state.
        struct TransitionEvent = "RIHS01_d5f8873a2f0146498f812d7885c7327ce27e463d36811d8792f35ee38c0d6c38" {
            timestamp: u64,
            transition: Transition,
            start_state: State,
            goal_state: State,
        }
    }
}

/// Services.
pub mod srv {
    use crate::lifecycle_msgs::msg::{State, Transition, TransitionDescription};
    use crate::macros::services;

    services! { "lifecycle_msgs/srv/";
        /// Asks a managed node for a transition, by id or, with id 0, by label.
        service ChangeState = "RIHS01_356fe34f0475a43acf54542013af4167b0e729f77ea22ffb045c6ad8e20668e5" {
            request ChangeStateRequest = "RIHS01_d74c6f524e14cade7b67e7297190360ed749264af300524fc1456f27cc2a553a" {
                transition: Transition,
            }
            response ChangeStateResponse = "RIHS01_e1ddfed0271fefe63767aa71561926e4d9eac0f1ddf9e71a8873eb46b36deac2" {
                success: bool,
            }
            event = "RIHS01_bf7f355aca8762a7a51df02eaf4a51024255d15b31b1b68bf0a099673c2709bc"
        }

        /// Lists all states of a managed node.
        service GetAvailableStates = "RIHS01_00a07d79d2207d71e81a8cbc1880e5d924cc16d4688ea8e8e06e443dc8f8aa1d" {
            request GetAvailableStatesRequest = "RIHS01_c2c0c12de6023822f284929577d4ca2862e0501150010966e8a90b632e4424de" {}
            response GetAvailableStatesResponse = "RIHS01_223e0dd5bb8a847ebb9532adaf8b5e2a97e6e68e79faeaabd81a45fb32925bd1" {
                available_states: Vec<State>,
            }
            event = "RIHS01_4211b77ace9f7061a6109f184cafc1bf0d5e9af0ae690715b92e23c6ced4c45f"
        }

        /// Lists transitions: those possible now, or the whole graph.
        service GetAvailableTransitions = "RIHS01_59b7ecefce0982a8a844b9f2c4f14764c1c4543cc55e72924e2aa4adad83e9bc" {
            request GetAvailableTransitionsRequest = "RIHS01_52a73c0b5d7489bee0df6ddb0aec45c41289d223ff225b58fe11d859ac8109a6" {}
            response GetAvailableTransitionsResponse = "RIHS01_4711339461aadf02bcfff797a198de911f885074bd3f2fe9f7b677ef87f0741c" {
                available_transitions: Vec<TransitionDescription>,
            }
            event = "RIHS01_188e7de007993da873cc247d52906151b38346fdb72a4cc5f78c407c3b5b370f"
        }

        /// Asks for the current state of a managed node.
        service GetState = "RIHS01_800a0a5aae599782b02932de0caf563f6dc4e7e94b794eadde075ba2cbef9795" {
            request GetStateRequest = "RIHS01_77a9c844e7975f15bc2221e8bbebafc4d118afb78c7f7071eef91f83f940f2f6" {}
            response GetStateResponse = "RIHS01_fe249babab472e42cb5653b5d6a6b0c42a003b0fdfb84851aea3fde08760b4f5" {
                current_state: State,
            }
            event = "RIHS01_4ac077d336db33726a95700398b95c34f326ecd27162b3f85cd7f85b4a55a75a"
        }
    }
}
