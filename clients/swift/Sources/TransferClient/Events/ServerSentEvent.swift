/// One block of a stream of Server-Sent Events (WHATWG HTML §9.2.6).
struct ServerSentEvent: Equatable, Sendable {
    /// The identifier up to here; nil when the stream has given none yet.
    var id: String?
    /// The type; nil for the default.
    var type: String?
    /// The lines of the data; nil when there are none, as in a heartbeat.
    var data: String?
    /// The pause before a reconnection in milliseconds, if this block sets it.
    var retry: Int64?
}
