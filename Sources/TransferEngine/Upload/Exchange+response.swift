import Curl
import Synchronization
import TransferContainer
import TransferModel

/// What the curl loop's thread tells of answers.
extension Exchange {
    func receive(head: ResponseHead) -> SinkVerdict {
        // The first head comes from the task's own host, before any redirect, unless an upload
        // continues elsewhere. A 503 does not show that the host serves.
        let isFirst = state.withLock { state in
            state.metrics.httpStatus == nil && state.upload?.isAtOrigin ?? true
        }
        if head.status != 503, isFirst { onReached(claim) }
        return state.withLock { state in
            state.metrics.httpStatus = head.status
            state.body = []
            state.isCut = false
            state.isResult = false
            switch state.read(head) {
            case .ordinary: break
            case .next:
                state.machine.leadsOn()
                return .proceed
            case .failed(let failure):
                state.machine.failed(failure)
                return .proceed
            }
            let action = state.machine.received(head)
            state.isResult = action == .receive
            if state.isResult {
                state.bytesExpected = head.credibleLength(configuration)
                state.noteUploadIsWhole()
                if isTooLong(head.contentLength ?? 0) { return refuse(&state) }
            }
            return action == .abort ? .abort : .proceed
        }
    }

    func receive(body: UnsafeRawBufferPointer) -> SinkVerdict {
        state.withLock { state in
            if state.isResult { state.bytesReceived += Int64(body.count) }
            let room = answerBytesMax - state.body.count
            state.body += body.prefix(max(0, room))
            guard body.count > room else { return .proceed }
            if isTooLong(state.bytesReceived) { return refuse(&state) }
            // The rest beyond the limit is not waited for.
            state.isCut = true
            return .abort
        }
    }

    /// Whether an answer of that length is too long for its task, whose answer must not be cut.
    private func isTooLong(_ length: Int64) -> Bool {
        claim.request.kind == .data && claim.request.method != "HEAD" && length > answerBytesMax
    }

    private func refuse(_ state: inout Confined) -> SinkVerdict {
        state.machine.failed(
            TransferFailure(
                .responseTooLarge,
                "The response is longer than the \(answerBytesMax) bytes that are kept with a task."
            )
        )
        state.body = []
        return .abort
    }

    func receive(informational head: ResponseHead) {
        let resource: UploadResource? = state.withLock { state in
            let isNew = state.upload?.received(
                informational: head,
                from: state.machine.url,
                isAtOrigin: state.isAtOrigin
            )
            return isNew ?? false ? state.upload?.resource : nil
        }
        // The body goes on meanwhile: without the resource, it would only be sent again.
        if let resource { keep(resource) {} }
    }

    func finish(_ result: Result<CurlSummary, CurlError>) {
        let goesOn = state.withLock { state in
            state.metrics.note(result)
            state.cookies = result.summary.cookies ?? state.cookies
            let hasEffects = state.upload?.hasEffects ?? true || state.request.upload != nil
            if hasEffects, !result.isRequestRefused {
                state.mayHaveArrived = state.mayHaveArrived || state.metrics.requestStart > .zero
            }
            if connections.isRefusal(result) { state.machine.abandoned() }
            switch state.machine.finished(wholeEnough(result, state), bytesWritten: 0) {
            case .follow(_, let dropsSecrets):
                state.follow(dropsSecrets: dropsSecrets, of: claim)
                return true
            case .restart:
                state.beginStep(of: claim)
                return true
            case .end(let end):
                state.end = end
                return false
            }
        }
        if goesOn { proceed() } else { conclude() }
    }

    /// Sends the next request, as soon as the resource to which it sends is kept: nobody could
    /// otherwise tell after a crash what has been sent.
    private func proceed() {
        let awaited = state.withLock { state in
            state.upload?.awaitsKeeping ?? false ? state.upload?.resource : nil
        }
        guard let awaited else { return request() }
        keep(awaited) { [self] in
            if state.withLock({ $0.upload?.awaitsKeeping ?? false }) { abandon() }
            request()
        }
    }

    private func keep(_ resource: UploadResource, then: @escaping @Sendable () -> Void) {
        state.withLock { $0.countOfStoring += 1 }
        uploadResources.keep(resource, of: claim) { [self] isKept in
            state.withLock { state in
                state.countOfStoring -= 1
                if isKept { state.upload?.kept(resource) }
            }
            then()
            conclude()
        }
    }

    /// Hands over the end, if there is one, as soon as everything that it depends on is stored.
    private func conclude() {
        let (unusable, concluded, file) = state.withLock {
            state -> (UploadResource?, EndedExchange?, UploadFile?) in
            guard state.countOfStoring == 0, let end = state.end else { return (nil, nil, nil) }
            if let unusable = state.upload?.unusable {
                state.countOfStoring += 1
                return (unusable, nil, nil)
            }
            state.end = nil
            defer { state.close() }
            return (nil, handOver(end, state), state.file)
        }
        if let unusable { forget(unusable) }
        guard var ended = concluded else { return }
        // The file is asked, and then closed, without the mutex: both wait for the disk.
        if let file, !file.isUnchanged, !connections.isAbandoned {
            ended.end = .failed(
                TransferFailure(.sourceChanged, "The file was changed while it was sent.")
            )
        }
        onEnd(ended)
    }

    private func forget(_ unusable: UploadResource) {
        uploadResources.forget(unusable, of: claim.task) { [self] isForgotten in
            state.withLock { state in
                state.countOfStoring -= 1
                state.upload?.forgotten()
                // The next attempt would take what the origin has there for a success.
                if !isForgotten, case .failed(let failure) = state.end {
                    state.end = .failed(failure.final)
                }
            }
            conclude()
        }
    }

    /// Returns the result, as a success if the answer was cut on our side.
    private func wholeEnough(
        _ result: Result<CurlSummary, CurlError>,
        _ state: Confined
    ) -> Result<CurlSummary, CurlError> {
        guard state.isCut, case .failure(let error) = result else { return result }
        return .success(error.summary)
    }

    private func handOver(_ end: ResponseStateMachine.End, _ state: Confined) -> EndedExchange {
        state.stream?.close()
        return EndedExchange(
            claim: claim,
            end: checked(end, state),
            metrics: state.metrics,
            url: state.machine.url,
            bytesReceived: state.bytesReceived,
            bytesSent: state.bytesSent,
            bytesSkipped: min(state.bytesSkipped ?? 0, state.bytesSent),
            mayHaveArrived: state.mayHaveEffects,
            remaining: timeLeft(state)
        )
    }

    private func checked(_ end: ResponseStateMachine.End, _ state: Confined) -> End {
        switch end {
        case .finished(let result):
            let answer = TransferResult(
                httpStatus: result.httpStatus,
                bytesReceived: state.bytesReceived,
                fields: result.fields,
                isLengthVerified: result.isLengthVerified && !state.isCut,
                isTruncated: state.isCut,
                // The resource of an upload is for its owner alone.
                finalURL: state.upload?.isWhole ?? true ? result.finalURL : nil,
                bytesToSend: state.sizeToSend.flatMap { $0 > state.bytesSent ? $0 : nil }
            )
            return .finished(answer, body: state.body)
        case .failed(var failure):
            // Without an answer of the origin, the request was ended for the want of its body.
            if failure.httpStatus == nil, let failure = state.stream?.failure {
                return .failed(failure)
            }
            if failure.httpStatus != nil, !state.body.isEmpty {
                failure.responseBody = Array(
                    state.body.prefix(TransferFailure.responseBodyBytesMax)
                )
            }
            return .failed(failure)
        case .abandoned: return .abandoned
        }
    }

    func timeLeft(_ state: Confined) -> Duration {
        claim.timeoutForResource - claim.elapsed - (.now - state.startedAt)
    }
}
