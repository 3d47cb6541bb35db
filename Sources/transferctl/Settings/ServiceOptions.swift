import ArgumentParser
import Foundation
import TransferClient

/// Which service a command uses.
struct ServiceOptions: ParsableArguments {
    @Option(help: "The context whose service is used, of those of `transferctl contexts`.")
    var context: String?

    /// Returns the service: that of the context named, or of `TRANSFERD_URL` and
    /// `TRANSFERD_API_KEY`, or of `TRANSFERCTL_CONTEXT`, or of the current context.
    ///
    /// - Throws: ``TransferError`` with the code `misconfigured`, or a fault of the file.
    func service(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws -> TransferService {
        let service = try named(environment)
        guard ServiceURL.isUsable(service.url) else {
            throw TransferError(.misconfigured, ServiceURL.rule)
        }
        return service
    }

    private func named(_ environment: [String: String]) throws -> TransferService {
        if context == nil, environment["TRANSFERD_URL"] != nil {
            return try TransferService(environment: environment)
        }
        let path = ContextFile.path(environment)
        let file = try ContextFile.read(at: path)
        guard let name = context ?? environment["TRANSFERCTL_CONTEXT"] ?? file.current else {
            throw TransferError(
                .misconfigured,
                "Set TRANSFERD_URL and TRANSFERD_API_KEY, or add a context."
            )
        }
        guard let context = file.contexts[name] else {
            throw ContextFile.Fault.unknownContext(name, path: path)
        }
        return TransferService(url: context.url, apiKey: context.apiKey, client: context.client)
    }
}
