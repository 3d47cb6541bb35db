import Hummingbird
import TransferModel

/// What a client wants taken over, and how.
struct ReconnectSettings: Sendable {
    var owner: String?
    var time = LeaseTime.seconds(LeaseTime.secondsDefault)
    var limit = Reconnection.limitDefault
    var after: TaskID?
    var format: PersistedFormat?
    var adoption: Adoption?

    /// Whose session it is, and as what it was created.
    struct Adoption: Sendable {
        let client: ClientID
        let container: String
    }
}
