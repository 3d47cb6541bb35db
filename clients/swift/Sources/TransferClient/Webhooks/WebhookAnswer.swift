/// What a program answers to an event.
public enum WebhookAnswer: Sendable {
    /// The event has been dealt with.
    case done
    /// The event has been stored, and the work for it goes on: for `session.events_finished`, the
    /// session's next events wait until ``TransferService/acknowledge(_:)``.
    case later

    /// The status of the HTTP response.
    var status: Int {
        switch self {
        case .done: 204
        case .later: 202
        }
    }
}
