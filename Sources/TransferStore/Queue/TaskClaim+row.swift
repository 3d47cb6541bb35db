import Foundation
import Postgres
import TransferModel

extension TaskClaim {
    /// Reads a row of ``QueueStore/selectTasks(of:_:)``.
    init(
        _ row: StoredRow,
        of sessions: [SessionID: ClaimedSession]
    ) throws(StoreError) {
        let id = try row.session("session_id")
        guard let session = sessions[id] else {
            throw StoreError(decoding: "a claimed task without its session")
        }
        var options = session.options(with: try row.optionsIfPresent("options"))
        let task = try row.task("task_id")
        let secrets = try? OpenedSecrets(row, options, of: task, in: session)
        options.mirrors = secrets?.mirrors
        self.init(
            task: task,
            fence: try row.fence("fence"),
            tenant: session.tenant,
            session: id,
            sessionKind: session.kind,
            hostKey: try row.hostKey("host_key"),
            priority: TaskPriority(rank: try row.decode("priority_rank")),
            number: Int(try row.decode("number", as: Int16.self)),
            url: secrets?.url ?? "",
            request: try TransferRequest(row, data: secrets?.body),
            headers: secrets?.headers ?? [],
            destination: try row.destination(),
            timeoutForRequest: options.timeoutForRequest ?? session.timeoutForRequest,
            timeoutForResource: options.timeoutForResource ?? session.timeoutForResource,
            options: options,
            elapsed: max(.zero, try row.milliseconds("elapsed_ms")),
            partial: try PartialDownload(row),
            tenantAuthorities: session.authorities,
            sessionHasCredentials: session.hasCredentials,
            limits: session.limits(ofTask: options),
            maxConnectionsPerHost: session.maxConnectionsPerHost
        )
        hasUnreadableSecrets = secrets == nil
        isForTests = session.isForTests
    }
}

/// What is sealed of a claimed task; one that does not open holds up no other.
private struct OpenedSecrets {
    let url: String
    let mirrors: [String]?
    let headers: [HTTPHeader]
    let body: [UInt8]?

    init(
        _ row: StoredRow,
        _ options: TransferOptions,
        of task: TaskID,
        in session: ClaimedSession
    ) throws(StoreError) {
        let tenant = session.tenant
        guard let shared = session.headers else {
            throw StoreError(decoding: "headers of a session that cannot be opened")
        }
        url = try row.url("url", at: .url(of: task, of: tenant))
        mirrors = try options.mirrors?.map { url throws(StoreError) in
            try row.sealer.open(url: url, at: .url(of: task, of: tenant))
        }
        headers = shared.overridden(
            by: try row.headers("headers", at: .headers(of: task, of: tenant))
        )
        body = try row.decodeIfPresent("upload_data", as: [UInt8].self)
            .map { data throws(StoreError) in
                try row.sealer.open(data, at: .body(of: task, of: tenant))
            }
    }
}

extension TransferRequest {
    fileprivate init(_ row: StoredRow, data: [UInt8]?) throws(StoreError) {
        let kind: Kind = try row.word("kind")
        self.init(
            kind: kind,
            method: try row.decodeIfPresent("method"),
            upload: kind == .download && data == nil ? nil : try UploadSource(row, data: data)
        )
    }
}

extension TransferRequest.UploadSource {
    /// Creates the source of what is sent; nil if nothing is.
    fileprivate init?(_ row: StoredRow, data: [UInt8]?) throws(StoreError) {
        if let path = try row.decodeIfPresent("upload_path", as: String.self) {
            self = .file(path: path)
        } else if let data {
            self =
                try row.decode("upload_is_copy") ? .copy(StoredJSON.copySource(data)) : .data(data)
        } else if try row.decode("upload_is_staged") {
            self = .staged
        } else {
            return nil
        }
    }
}

extension PartialDownload {
    /// Creates the part; nil if the task has none.
    fileprivate init?(_ row: StoredRow) throws(StoreError) {
        guard let fence = try row.decodeIfPresent("partial_fence", as: Int64.self) else {
            return nil
        }
        self.init(
            partFence: Fence(rawValue: fence),
            sourcePath: try row.sourcePath(fence: Fence(rawValue: fence)),
            ranges: try row.byteRanges("ranges"),
            bootID: try row.decode("boot_id"),
            bytesDurable: try row.decode("bytes_durable"),
            bytesTotal: try row.decode("bytes_total"),
            validator: EntityValidator(stored: try row.decode("validator")),
            coding: try row.decodeIfPresent("coding"),
            mayBeOfAnother: try row.decode("may_be_of_another"),
            isOfOtherURL: try !row.isOfSourceURL()
        )
    }
}

extension StoredRow {
    /// Whether the part of a claimed task is its own, or of a task with the same URL but for the
    /// query, in which a signature may change.
    fileprivate func isOfSourceURL() throws(StoreError) -> Bool {
        guard try decodeIfPresent("source_task_id", as: UUID.self) != nil else { return true }
        // What is before the query is stored as it is, whatever is sealed.
        let urls = [
            try decodeIfPresent("source_url", as: String.self) ?? "",
            try decode("url", as: String.self),
        ].map { url in
            url.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        }
        return urls[0].elementsEqual(urls[1])
    }
}

extension [HTTPHeader] {
    /// Returns these headers without those that `others` also name, followed by `others`.
    fileprivate func overridden(by others: [HTTPHeader]) -> [HTTPHeader] {
        guard !isEmpty else { return others }
        let names = Set(others.map { $0.name.lowercased() })
        return filter { !names.contains($0.name.lowercased()) } + others
    }
}
