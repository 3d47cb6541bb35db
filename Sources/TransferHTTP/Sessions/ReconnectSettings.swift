import Hummingbird
import TransferModel
import TransferStore

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

    /// Takes over a part of a session's tasks.
    func takeOver(
        _ session: Session,
        by client: ClientID,
        in stores: APIStores
    ) async throws -> Reconnection {
        try await stores.sessions.reconnect(
            session.id,
            by: client,
            owner: owner,
            time: time,
            after: after,
            limit: limit
        )
    }
}
