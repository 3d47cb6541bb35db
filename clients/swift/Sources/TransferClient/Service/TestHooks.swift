public import TransferWire

/// What tests of a program that uses the service can make happen, in a tenant that was made for
/// tests.
///
/// In any other tenant each call throws ``TransferError`` with the code `unknown_route`.
public struct TestHooks: Sendable {
    let service: TransferService

    /// Ends the wait of a task, and returns the task.
    @discardableResult
    public func endWait(ofTask identifier: String) async throws(TransferError) -> TaskDocument {
        try await service.get(
            ServiceRequest("POST", Self.path("end-wait", identifier)).repeatable()
        )
    }

    /// Lets the next attempt of a task end with a failure, without a request to its origin.
    @discardableResult
    public func failNextAttempt(
        ofTask identifier: String,
        with failure: TestFailureRequest
    ) async throws(TransferError) -> TaskDocument {
        try await service.get(
            ServiceRequest("POST", Self.path("fail-next-attempt", identifier), json: failure)
        )
    }

    /// Lets an ended task expire with its result.
    public func expire(task identifier: String) async throws(TransferError) {
        _ = try await service.call(ServiceRequest("POST", Self.path("expire", identifier)))
    }

    private static func path(_ verb: String, _ task: String) -> String {
        "/v1/test-hooks/tasks/\(PercentEncoding.encodeSegment(task))/\(verb)"
    }
}
