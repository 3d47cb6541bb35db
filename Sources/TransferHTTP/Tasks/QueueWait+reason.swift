import TransferModel
import TransferWire

extension QueueWait {
    /// The reason for which a queued task does not run, as text for people.
    func reason(connectionsDefault: Int) -> String {
        let host = host ?? "its host"
        switch cause(connectionsDefault: connectionsDefault) {
        case .paused: return pause?.reason ?? ""
        case .worker: return "No worker is alive; the task starts when one is."
        case .storedBytes:
            return "The tenant keeps as many bytes as it may; the task starts when some are gone."
        case .inFlightBytes:
            return "The tenant's running tasks have as many bytes to move as they may."
        case .runningTasks: return "The tenant has as many running tasks as it may."
        case .closedHost:
            return "\(host) does not serve, and one task at a time tries it. \(closure ?? "")"
        case .session:
            return "The session has its \(connectionsOfSession ?? 0) connections to \(host) in use."
        case .host: return "\(host) has its \(runningAtHost) connections in use."
        case .discretionary:
            return "The session is discretionary: the task waits until there is nothing else to do."
        case .slot: return "The task waits for its tenant's turn at a free slot of a worker."
        }
    }
}

extension Pause {
    /// What is paused, by whom and since when.
    fileprivate var reason: String {
        let subject =
            switch (scope.tenant, hostName) {
            case (_, let host?): host
            case (nil, nil): "The service"
            case (_?, nil): "The tenant"
            }
        let author = isByTenant ? "the tenant" : "an operator"
        return "\(subject) was paused by \(author) at \(Timestamp(pausedAt).rfc3339)."
    }
}
