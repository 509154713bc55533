//! `robot3_18c1054`: the ball-catching arm's hand.

/// Messages.
pub mod msg {
    use crate::macros::messages;

    messages! { "robot3_18c1054/msg/";
        /// Asks the hand to close (or open) at a time.
        struct HandClose = "RIHS01_7e2920c72a8f4ec9d8366ed86ac07f3343b3600f93d4ba5032d3338f1fbe030d" {
            close: bool,
            time_stamp: f32,
        }
    }
}

/// Services.
pub mod srv {
    use crate::macros::services;

    services! { "robot3_18c1054/srv/";
        /// Asks for the state of the hand.
        service GetHandState = "RIHS01_c56c0dd044be8ac3cbcaa0f7dd5b86f75ee83b12a48c16289b645a7f38439765" {
            request GetHandStateRequest = "RIHS01_f05399a022a8aeafa14168fb37824bcb10b69c8c87c6df8befdbad38a0767402" {}
            response GetHandStateResponse = "RIHS01_4fc74e64500c0f8c61a7088784f9c44d7e8db14a4892a999ac7b6bcf36c8d386" {
                hand_state: Vec<f32>,
            }
            event = "RIHS01_178101f2782ed98449df6c90abd621a178ddf87bcd79fd5d89a70aa24a1de5e7"
        }

        /// Asks for the local time at which the simulation began.
        service GetInitTime = "RIHS01_8b2a6a878bad392779a5503d3e88368068100c50ff53bba685b39dc544d5fda5" {
            request GetInitTimeRequest = "RIHS01_28c4063c725d166a717cee2b4c11b9f88aa452d26abdf1122fd79539df08882a" {}
            response GetInitTimeResponse = "RIHS01_cd61999f9526ab405e2c38df9944d0cbed2a44bac18550ef80220c4919e8c19d" {
                year: i32,
                month: i32,
                day: i32,
                hour: i32,
                minute: i32,
                second: i32,
                lower: f32,
            }
            event = "RIHS01_6fd77ef2ce99f9b696790026096a6a04b6029573f7ad6014d5db0a9d89bc09c9"
        }
    }
}
