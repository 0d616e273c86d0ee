//! The one way to the network.
//!
//! A name is resolved once, every address that it stands for is judged by a [`Reach`], and exactly a
//! judged address is dialled ([`Dialer`]). Commands in the sandbox, model providers and the web tools
//! all connect through here, so that there is one judge and one dialler.
//!
//! [`Transport`] is HTTP over such connections, with TLS and the proxies of the environment;
//! [`WebClient`] is one exchange with a web server over it, with redirects that are judged again and
//! bounds on everything. With a proxy, the proxy resolves names: then a name is judged by its form.
//!
//! It must never know a tool, a model or a policy. It reads no file but the system's certificates, and
//! no variable but those that name them.

mod address;
mod allowance;
mod authority;
mod decoding;
mod dial;
mod reach;
mod request_body;
mod resolver;
mod signal;
mod transport;
mod upstream;
mod waiting;
mod web_client;
mod web_url;

pub use address::{AddressKind, AddressRange, judge};
pub use allowance::{Allowance, InvalidAllowance};
pub use authority::{Authority, RequestHost};
pub use decoding::{Decoding, SLICE};
pub use dial::{Dialer, NotReached};
pub use reach::Reach;
pub use request_body::RequestBody;
pub use resolver::{NameResolver, SystemResolver};
pub use signal::Signal;
pub use transport::{
    HttpVersions, InvalidProxy, Network, Roots, SendError, Sending, Transport, innermost, origin,
    spoken,
};
pub use upstream::{InvalidUpstream, Upstream};
pub use waiting::{Stop, wait};
pub use web_client::{
    Fetching, MAX_REDIRECTS, MayFollow, NotFollowed, WebCall, WebClient, WebError, WebReply,
};
pub use web_url::{InvalidWebUrl, WebUrl, form};
