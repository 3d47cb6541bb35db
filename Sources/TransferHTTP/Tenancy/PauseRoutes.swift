import Foundation
import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// The routes by which a tenant pauses and resumes its own tasks.
struct PauseRoutes: Sendable {
    let stores: APIStores
    let tell: @Sendable (Set<Signal>) -> Void

    func add(to router: APIRouter) {
        router.post("/v1/tenant/pause", scope: .admin) { request, context in
            try await pause(request.jsonBody(), of: context.requireTenant())
        }
        router.post("/v1/tenant/resume", scope: .admin) { request, context in
            try await resume(request.jsonBody(), of: context.requireTenant())
        }
    }

    func pause(_ body: [UInt8], of tenant: TenantID) async throws -> Answer {
        let request =
            try await body.isEmpty ? PauseRequest() : decoded(PauseRequest.self, from: body)
        let pause = Pause(
            scope: Pause.Scope(tenant: tenant, host: try request.host.map(hostKey)),
            hostName: request.host?.lowercased(),
            isByTenant: true,
            givesBack: request.givesBack ?? false,
            pausedAt: Date()
        )
        guard try await stores.pauses.pause(pause) else {
            throw Problem(Quota(.pauses, maximum: Quota.pausesMax))
        }
        tell(.ofTasks)
        return Answer(status: .noContent)
    }

    func resume(_ body: [UInt8], of tenant: TenantID) async throws -> Answer {
        let request =
            try await body.isEmpty ? ResumeRequest() : decoded(ResumeRequest.self, from: body)
        let scope = Pause.Scope(tenant: tenant, host: try request.host.map(hostKey))
        if try await stores.pauses.endPause(scope, isByTenant: true) { tell(.ofTasks) }
        return Answer(status: .noContent)
    }

    /// Returns the host that a body names.
    private func hostKey(_ host: String) throws -> HostKey {
        // It is searched from its end, character by character.
        guard host.utf8.count <= WebURL.hostBytesMax + ":65535".utf8.count,
            let key = HostKey(hostAndPort: host)
        else {
            throw Problem([
                FieldError(pointer: "/host", .invalidValue, HostKey.rule)
            ])
        }
        return key
    }
}

extension PauseDocument {
    init(_ pause: Pause) {
        self.init(
            host: pause.hostName,
            pausedBy: pause.isByTenant ? "tenant" : "operator",
            givesBack: pause.givesBack,
            pausedAt: Timestamp(pause.pausedAt)
        )
    }
}
