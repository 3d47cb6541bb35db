import Foundation
import Testing
import TransferClient
import TransferTestSupport

/// A service, an origin, and a client's way to the service.
struct ClientStage {
    let directory: DataDirectory
    let process: ServiceProcess
    let origin: LoopbackOrigin
    let service: TransferService
    let folder: TestFolder

    init(_ transport: ClientTransport = .asyncHTTPClient) async throws {
        directory = try DataDirectory()
        process = try await ServiceProcess(in: directory)
        origin = try LoopbackOrigin()
        service = TransferService(
            url: "http://127.0.0.1:\(process.announcement.port)",
            apiKey: try directory.apiKey(),
            transport: transport.transport
        )
        folder = try TestFolder("client")
    }

    func session(
        _ delegate: (any TransferSessionDelegate)? = nil
    ) -> TransferSession {
        TransferSession(
            configuration: .background(withIdentifier: "s"),
            service: service,
            delegate: delegate
        )
    }

    func file(_ name: String) -> URL { URL(filePath: "\(folder.path)/\(name)") }

    func end() async {
        origin.stop()
        #expect(await process.terminate() == 0)
    }
}
