import Synchronization

extension CurlLoop {
    /// The treatment of a body that is longer than the limit of a fetch.
    package enum BodyOverflow: Sendable {
        /// The fetch fails with `bodyTooLarge`.
        case fail
        /// The fetch ends early and succeeds with the first part of the body.
        case truncate
    }

    /// Runs one transfer and returns its response; any status is a response.
    ///
    /// Cancelling the task cancels the transfer.
    ///
    /// - Parameters:
    ///   - request: what to ask for.
    ///   - bodyMax: the most bytes of the body to keep.
    ///   - overflow: what to do with a longer body.
    /// - Returns: the final response, whatever its status.
    /// - Throws: ``CurlError`` when there is no whole response.
    package func fetch(
        _ request: CurlRequest,
        bodyMax: Int,
        overflow: BodyOverflow = .fail
    ) async throws(CurlError) -> BufferedResponse {
        let sink = BufferingSink(bodyMax: bodyMax, overflow: overflow)
        let transfer = Mutex<CurlTransfer?>(nil)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                sink.whenFinished { continuation.resume(returning: $0) }
                let started = start(request, sink: sink)
                transfer.withLock { $0 = started }
                // The handler below may have run before there was something to cancel.
                if Task.isCancelled { started.cancel() }
            }
        } onCancel: {
            transfer.withLock { $0 }?.cancel()
        }
        return try result.get()
    }
}

/// Keeps a body up to a limit.
private final class BufferingSink: CurlSink {
    private struct State {
        var head: ResponseHead?
        var body: [UInt8] = []
        var hasOverflowed = false
        var handler: (@Sendable (Result<BufferedResponse, CurlError>) -> Void)?
    }

    private let bodyMax: Int
    private let overflow: CurlLoop.BodyOverflow
    private let state = Mutex(State())

    init(bodyMax: Int, overflow: CurlLoop.BodyOverflow) {
        self.bodyMax = bodyMax
        self.overflow = overflow
    }

    func whenFinished(_ handler: @escaping @Sendable (Result<BufferedResponse, CurlError>) -> Void)
    {
        state.withLock { $0.handler = handler }
    }

    func receive(head: ResponseHead) -> SinkVerdict {
        state.withLock { $0.head = head }
        return .proceed
    }

    func receive(body: UnsafeRawBufferPointer) -> SinkVerdict {
        state.withLock { state in
            let room = bodyMax - state.body.count
            unsafe state.body.append(contentsOf: body.prefix(room))
            state.hasOverflowed = body.count > room
            return state.hasOverflowed ? .abort : .proceed
        }
    }

    func finish(_ result: Result<CurlSummary, CurlError>) {
        let state = state.withLock { $0 }
        state.handler?(response(result, state))
    }

    private func response(
        _ result: Result<CurlSummary, CurlError>,
        _ state: State
    ) -> Result<BufferedResponse, CurlError> {
        switch (result, state.head) {
        case (.success(let summary), let head?):
            return .success(response(head, state, summary))
        case (.success(let summary), nil):
            return .failure(CurlError(.badResponse, summary: summary))
        case (.failure(let error), let head?) where state.hasOverflowed && error.code == .aborted:
            guard overflow == .truncate else {
                return .failure(CurlError(.bodyTooLarge, summary: error.summary))
            }
            return .success(response(head, state, error.summary))
        case (.failure(let error), _):
            return .failure(error)
        }
    }

    private func response(
        _ head: ResponseHead,
        _ state: State,
        _ summary: CurlSummary
    ) -> BufferedResponse {
        BufferedResponse(head: head, body: state.body, summary: summary)
    }
}
