package import TransferClient
package import TransferWire

extension ServiceProcess {
    /// Returns a client with a key, which asks the service as its users do.
    package func client(key: String) -> TransferService {
        TransferService(url: "http://127.0.0.1:\(announcement.port)", apiKey: key)
    }
}

extension TransferService {
    /// Submits a download of each URL.
    ///
    /// - Returns: the identifiers of the tasks.
    package func submit(_ urls: [String], to session: String) async throws -> [String] {
        try await submit(urls.map { TaskRequest(target: .url($0)) }, toSession: session).map(\.id)
    }

    /// Submits a download of each URL, every other one with a destination: `d1`, `d3` and so on.
    ///
    /// - Returns: the identifiers of the tasks, and the prefix of the file name of each.
    package func submitNamingEveryOther(
        _ urls: [String],
        to session: String
    ) async throws -> (ids: [String], names: [String]) {
        let tasks = urls.enumerated().map { index, url in
            let destination = DestinationRequest(path: "d\(index)", overwrite: false)
            return TaskRequest(
                target: .url(url),
                destination: index % 2 == 0 ? nil : destination
            )
        }
        let ids = try await submit(tasks, toSession: session).map(\.id)
        return (ids, ids.enumerated().map { $0 % 2 == 0 ? $1 : "d\($0)" })
    }

    /// Returns all events of a session, page by page.
    package func events(of session: String) async throws -> [EventMessage] {
        var events: [EventMessage] = []
        var place: EventCursor?
        while true {
            let page = try await self.events(ofSession: session, after: place)
            place = EventCursor(page.next)
            if page.items.isEmpty { return events }
            events += page.items
        }
    }

    /// Returns the bytes of a completed task.
    package func bytes(ofTask identifier: String) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await part in content(ofTask: identifier) { bytes += part }
        return bytes
    }
}
