import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle
import TransferModel
import TransferStore
import TransferWebhooks
import TransferWire

/// The events of a log as Server-Sent Events (WHATWG HTML §9.2), from a position on to the end of
/// the log, if it has one.
///
/// A page is read only after the previous one has been written: a client that reads slowly costs
/// one page, and a client that does not read at all is disconnected.
struct EventStream: Sendable {
    static let mediaType = "text/event-stream"
    /// The maximum number of events in memory for one client, and of bytes of their client strings.
    private static let pageMax = 25
    private static let pageBytesMax = 256 * 1024
    /// The bytes that a page counts as while it is sent: with its frames, one of which may be long.
    private static let shareBytes = 2 * pageBytesMax
    /// The approximate number of bytes up to which frames are sent together.
    private static let chunkBytes = 32 * 1024
    /// The time a stream waits while the database is unavailable.
    private static let outagePause: Duration = .seconds(1)

    let log: EventLog
    /// The position of the last event that the client has.
    let begin: Int64
    let poll: SharedPoll<EventLog.Source, EventPosition>
    let query: EventQuery
    let bounds: EventReaderBounds
    let linkBase: String?
    let slot: ReaderSlot
    let key: KeyHold
    /// The stream's share of the budget for answers that are held.
    let share: BudgetShare?

    /// Returns the answer, whose body runs until the client goes away, its key ends, the service
    /// stops or nothing more can happen in the session.
    func response(to request: Request, on channel: any Channel) -> Response {
        // A proxy that collects an answer before it passes it on would delay events.
        let headers: HTTPFields = [.contentType: Self.mediaType, .accelBuffering: "no"]
        return Response(
            status: .ok,
            headers: headers,
            body: ResponseBody { writer in
                do {
                    try await request.body.consumeWithCancellationOnInboundClose { _ in
                        try await write(to: &writer, on: channel)
                    }
                } catch is Problem {
                    // The client has fallen behind the kept events, and is told so when it
                    // reconnects.
                }
                try await writer.finish(nil)
            }
        )
    }

    private func write(
        to writer: inout any ResponseBodyWriter,
        on channel: any Channel
    ) async throws {
        var last = begin
        var hasNews = false
        // The delay is random, so that clients that lost one instance do not reach the next all at
        // once.
        try await send("retry: \(Int.random(in: 1000...3000))\n\n", to: &writer, on: channel)
        // When the client last heard of a position.
        var toldAt = ContinuousClock.now
        while !Task.isShuttingDownGracefully, !key.isOver {
            try Task.checkCancellation()
            guard let page = try await page(after: last) else {
                try await Task.sleep(for: Self.outagePause)
                try await send(":\n\n", to: &writer, on: channel)
                continue
            }
            if page.through > last {
                let isTold = try await send(page, to: &writer, on: channel)
                share?.shrink(to: 0)
                last = page.through
                hasNews = false
                if isTold { toldAt = .now }
                // Events that the query does not ask for may come without end.
                if ContinuousClock.now - toldAt < bounds.heartbeatInterval { continue }
            } else {
                share?.shrink(to: 0)
                // A wake-up without an event means that no further event will come.
                if hasNews {
                    // The last one may not have been asked for: whoever knows of it need not come
                    // again.
                    guard last > begin else { return }
                    return try await send(place(behind: last), to: &writer, on: channel)
                }
                hasNews = await poll.hasEvents(
                    of: log.source,
                    after: last,
                    within: max(.zero, bounds.heartbeatInterval - (ContinuousClock.now - toldAt)),
                    for: key
                )
                if hasNews || key.isOver { continue }
            }
            // The heartbeat carries the cursor, which also moves over events that the query does
            // not ask for.
            try await send(":\n\n\(place(behind: last))", to: &writer, on: channel)
            toldAt = .now
        }
    }

    /// Reads the next page.
    ///
    /// - Returns: nil while the database is unavailable, or other answers of the tenant wait to be
    ///   read.
    private func page(after cursor: Int64) async throws -> EventLog.Page? {
        do {
            try await share?.take(Self.shareBytes)
        } catch {
            return nil
        }
        do {
            return try await log.page(
                after: cursor,
                limit: Self.pageMax,
                bytesMax: Self.pageBytesMax
            )
        } catch StoreError.unavailable {
            share?.shrink(to: 0)
            return nil
        }
    }

    /// Returns the field that tells a client where it is, without an event.
    private func place(behind position: Int64) -> String {
        position > 0 ? "id: \(cursor(behind: position))\n\n" : ""
    }

    private func cursor(behind position: Int64) -> EventCursor {
        EventCursor(log: log.source.id, sequence: position)
    }

    /// Sends the events of a page that the query asks for.
    ///
    /// - Returns: whether there were any, so that the client knows a position of the page.
    private func send(
        _ page: EventLog.Page,
        to writer: inout any ResponseBodyWriter,
        on channel: any Channel
    ) async throws -> Bool {
        var frames = ByteBuffer()
        var isTold = false
        // A comment, which every client passes over.
        for place in page.unreadable where query.wants(place) {
            frames.writeString(": the event \(cursor(behind: place.position)) cannot be read\n\n")
        }
        for entry in page.events where query.wants(entry.event) {
            isTold = true
            let cursor = cursor(behind: entry.position)
            frames.writeString("id: \(cursor)\nevent: \(entry.event.kind.rawValue)\ndata: ")
            // JSON has no line ends outside strings, and escapes those inside them.
            frames.writeBytes(
                try WireEncoder.encode(EventMessage(entry.event, linkBase: linkBase))
            )
            frames.writeString("\n\n")
            guard frames.readableBytes >= Self.chunkBytes else { continue }
            try await send(frames, to: &writer, on: channel)
            frames.clear()
        }
        if frames.readableBytes > 0 { try await send(frames, to: &writer, on: channel) }
        return isTold
    }

    private func send(
        _ text: String,
        to writer: inout any ResponseBodyWriter,
        on channel: any Channel
    ) async throws {
        try await send(ByteBuffer(string: text), to: &writer, on: channel)
    }

    /// Sends `bytes`, and returns when the client has room for more.
    private func send(
        _ bytes: ByteBuffer,
        to writer: inout any ResponseBodyWriter,
        on channel: any Channel
    ) async throws {
        // A write to a client that has stopped reading would never return.
        let timer = channel.eventLoop.scheduleTask(in: TimeAmount(bounds.writeTimeout)) {
            channel.close(promise: nil)
        }
        defer { timer.cancel() }
        try await writer.write(bytes)
    }
}

extension SharedPoll<EventLog.Source, EventPosition> {
    /// Waits for an event after `position`.
    ///
    /// - Returns: true also when no further event can come or the key has ended, false when the
    ///   time is over.
    func hasEvents(
        of log: EventLog.Source,
        after position: Int64,
        within limit: Duration,
        for key: KeyHold
    ) async -> Bool {
        await news(of: log, within: key.wait(upTo: limit)) { end in
            key.isOver || end.map { $0.lastSequence > position || $0.isFinal } ?? true
        }
    }
}
