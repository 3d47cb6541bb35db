import HTTPTypes
import TransferModel
import TransferWire

/// What keeps clients from their sessions and background tasks.
extension Problem {
    /// The problem of an unknown client, which says how to create it.
    static let unknownClient = Problem(.unknownClient, "Create it with PUT /v1/clients/{client}.")

    /// The problem of a client whose name is free once it is gone.
    static let clientRemoved = Problem(
        .clientRemoved,
        "Its name is free again when GET /v1/clients/{client} answers 404."
    )

    /// The problem of a client that would have to be running.
    static let clientNotRunning = Problem(
        .clientNotRunning,
        """
        It is suspended or terminated, or its time in the background is over; report it first with \
        `launch` or `background`.
        """
    )

    /// Returns the problem of a force-quit client, whose sessions accept nothing before its launch.
    static func forceQuit(_ id: ClientID) -> Problem {
        Problem(
            .clientForceQuit,
            "Its sessions take no tasks before POST \(APIPath.client(id.name))/launch."
        )
    }

    /// The problem of an identifier that the tenant does not permit.
    static let identifierNotPermitted = Problem(
        .notPermitted,
        """
        PATCH /v1/tenant/background-settings sets `permitted_identifiers`, among which the \
        identifier is not.
        """
    )

    /// The seconds after which a client should retry whose tenant has background tasks switched
    /// off.
    private static let switchedOffRetryAfterSeconds = 300

    /// The problem of a request while the tenant has background tasks switched off.
    static let backgroundTasksOff: Problem = {
        var problem = Problem(
            .unavailable,
            "The tenant has background tasks switched off, in its background settings."
        )
        problem.headers[.retryAfter] = String(switchedOffRetryAfterSeconds)
        return problem
    }()
}
