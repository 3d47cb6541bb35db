import Hummingbird
import TransferModel

/// The tasks that a client wants to take over, and how.
struct ReconnectSettings: Sendable {
    var owner: String?
    var time = LeaseTime.seconds(LeaseTime.secondsDefault)
    var limit = Reconnection.limitDefault
    var after: TaskID?
    var format: PersistedFormat?
    var adoption: Adoption?

    /// The client whose session is adopted, and the container it was created with.
    struct Adoption: Sendable {
        let client: ClientID
        let container: String
    }
}
