//! HTTP/1.1 on a stream, for the servers that the benches give to a function.

use std::io::{BufRead, Write};

/// A request.
#[derive(Default)]
pub struct Request {
    pub first_line: String,
    /// The header `x-amz-target`, which names the operation of a call to AWS.
    pub target: String,
    pub body: String,
}

/// Reads a request. None: the connection is closed.
pub fn request(from: &mut impl BufRead) -> Option<Request> {
    let (mut request, mut length, mut chunked) = (Request::default(), 0, false);
    if from.read_line(&mut request.first_line).ok()? == 0 {
        return None;
    }
    loop {
        let mut line = String::new();
        from.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        match (name.to_ascii_lowercase().as_str(), value.trim()) {
            ("content-length", value) => length = value.parse().ok()?,
            ("transfer-encoding", _) => chunked = true,
            ("x-amz-target", value) => value.clone_into(&mut request.target),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    if chunked {
        while !body.ends_with(b"0\r\n\r\n") {
            let read = from.fill_buf().ok()?.to_vec();
            from.consume(read.len());
            body.extend(&read);
        }
    } else {
        from.read_exact(&mut body).ok()?;
    }
    request.body = String::from_utf8_lossy(&body).into_owned();
    Some(request)
}

/// Writes an answer.
pub fn respond(
    to: &mut impl Write,
    status: u16,
    headers: &[(&str, &str)],
    body: &[u8],
) -> std::io::Result<()> {
    let mut answer = format!("HTTP/1.1 {status} -\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        answer += &format!("{name}: {value}\r\n");
    }
    answer += "\r\n";
    to.write_all(&[answer.as_bytes(), body].concat())?;
    to.flush()
}
