//! Words of `ros2` that need ROS's packages: answered with what does the same here.

use clap::Args;

use crate::failure::{Failure, Result};

/// Whatever follows such a word.
#[derive(Args, Debug)]
pub(crate) struct Words {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<String>,
}

impl Words {
    pub(crate) fn run(&self, word: &str) -> Result<()> {
        let instead = match (word, self.words.get(1).or(self.words.first())) {
            ("run", Some(program)) => {
                format!("programs are started by their own names: `{program} --ros-args …`")
            }
            ("run", None) => {
                "programs are started by their own names, such as `mocap-system --ros-args …`".to_owned()
            }
            ("launch", _) => "`rosless up --config FILE.yaml` starts several programs and looks after them; \
                              `rosless up --help` shows one"
                .to_owned(),
            ("pkg", _) => {
                "definitions are built in: `rosless interface packages` lists them, `--idl DIR` adds more"
                    .to_owned()
            }
            _ => "every program here is a process of its own: start it by its name".to_owned(),
        };
        Err(Failure::usage(format!("there are no packages of ROS on this machine; {instead}")))
    }
}
