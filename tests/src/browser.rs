//! A real browser, driven by tests: headless Chromium over its DevTools protocol.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test prints for people")]

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
    process::Command,
    time::Duration,
};

use serde_json::{Value, json};
use tungstenite::WebSocket;

use crate::{Daemon, Scratch, eventually};

const PATIENCE: Duration = Duration::from_secs(60);

/// One window. Dropping it ends the browser.
#[derive(Debug)]
pub struct Browser {
    socket: WebSocket<TcpStream>,
    next: u64,
    _daemon: Daemon,
    /// After the browser, which writes there.
    _folder: Scratch,
}

impl Browser {
    /// Starts one. `None` where there is no Chromium: that is printed in one line.
    ///
    /// # Panics
    /// Under `CI=true` when there is none.
    pub fn start() -> Option<Self> {
        if !Command::new("chromium").arg("--version").output().is_ok_and(|output| output.status.success()) {
            let line = "no browser: the Debian package chromium is needed";
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{line}");
            eprintln!("SKIPPED: {line}");
            return None;
        }
        let folder = Scratch::make();
        let mut command = Command::new("chromium");
        command.args(["--headless=new", "--no-sandbox", "--remote-debugging-port=0", "--no-first-run"]);
        command.arg(format!("--user-data-dir={}", folder.display())).arg("about:blank");
        let daemon = Daemon::spawn(command);
        let line = daemon.wait_for_line("DevTools listening on ws://", PATIENCE);
        let host = line
            .split("ws://")
            .nth(1)
            .and_then(|rest| rest.split('/').next())
            .expect("an address")
            .to_owned();
        let url = crate::eventually_some("the browser has a window", PATIENCE, || window(&host));
        let stream = TcpStream::connect(&host).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let (socket, _) = tungstenite::client(url, stream).expect("it speaks WebSocket");
        let mut browser = Self { socket, next: 0, _daemon: daemon, _folder: folder };
        browser.size(1280, 900);
        Some(browser)
    }

    fn command(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let text = json!({"id": id, "method": method, "params": parameters}).to_string();
        self.socket.send(tungstenite::Message::text(text)).expect("sent");
        loop {
            let message = self.socket.read().expect("an answer");
            let Ok(text) = message.to_text() else { continue };
            let answer: Value = serde_json::from_str(text).unwrap_or_default();
            if answer["id"] == id {
                return answer["result"].clone();
            }
        }
    }

    /// Opens an address, and waits until its document is there.
    pub fn go(&mut self, url: &str) {
        self.command("Page.navigate", json!({"url": url}));
        self.until("document.readyState === 'complete'");
    }

    /// How large the window is.
    pub fn size(&mut self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500});
        self.command("Emulation.setDeviceMetricsOverride", size);
    }

    /// What an expression comes to on the page.
    pub fn eval(&mut self, expression: &str) -> Value {
        let question = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        self.command("Runtime.evaluate", question)["result"]["value"].clone()
    }

    /// Waits until an expression holds on the page.
    ///
    /// # Panics
    /// With what the page shows, when it does not.
    #[track_caller]
    pub fn until(&mut self, expression: &str) {
        let text = self.eval("document.body?.innerText");
        eventually(&format!("{expression}; the page said {text}"), PATIENCE, || {
            self.eval(&format!("Boolean({expression})")) == Value::Bool(true)
        });
    }

    /// Clicks what a selector finds, as soon as it is there and enabled.
    #[track_caller]
    pub fn click(&mut self, selector: &str) {
        self.until(&format!("document.querySelector({selector:?})?.disabled === false"));
        self.eval(&format!("document.querySelector({selector:?}).click()"));
    }

    /// Writes into what a selector finds, as somebody who types and leaves the field.
    #[track_caller]
    pub fn fill(&mut self, selector: &str, text: &str) {
        self.until(&format!("document.querySelector({selector:?})?.disabled === false"));
        self.eval(&format!(
            "(() => {{ const e = document.querySelector({selector:?}); e.focus(); e.value = {text:?}; \
             for (const n of ['input', 'change']) e.dispatchEvent(new Event(n, {{ bubbles: true }})); }})()"
        ));
    }

    /// A picture of the page, in the folder that the variable `ROSLESS_SHOTS` names; nothing without it.
    pub fn shot(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("ROSLESS_SHOTS") else { return };
        // Notices are of the moment, and lie over the page.
        self.eval("document.getElementById('notices')?.replaceChildren()");
        std::thread::sleep(Duration::from_millis(700));
        let taken = self.command("Page.captureScreenshot", json!({"format": "png"}));
        let text = taken["data"].as_str().unwrap_or_default();
        let bytes = data_encoding::BASE64.decode(text.as_bytes()).expect("the browser sends base64");
        std::fs::write(PathBuf::from(folder).join(format!("{name}.png")), bytes)
            .expect("the folder is there");
    }

    /// Presses a key.
    pub fn key(&mut self, key: &str) {
        let mut down = json!({"type": "keyDown", "key": key});
        if key.len() == 1 {
            down["text"] = key.into();
        }
        self.command("Input.dispatchKeyEvent", down);
        self.command("Input.dispatchKeyEvent", json!({"type": "keyUp", "key": key}));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends itself and its helpers; what it wrote goes with it.
        let _ = self
            .socket
            .send(tungstenite::Message::text(json!({"id": 0, "method": "Browser.close"}).to_string()));
        std::thread::sleep(Duration::from_millis(300));
    }
}

/// The address of the first window.
fn window(host: &str) -> Option<String> {
    let mut stream = TcpStream::connect(host).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
    write!(stream, "GET /json/list HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").ok()?;
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    let list: Value = serde_json::from_str(&text[text.find("[")?..=text.rfind(']')?]).ok()?;
    let page = list.as_array()?.iter().find(|target| target["type"] == "page")?;
    page["webSocketDebuggerUrl"].as_str().map(str::to_owned)
}
