import Foundation
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// Forms with files as a receiver reads them.
@Suite(.timeLimit(.minutes(5))) struct MultipartTests {
    /// Prints name, file name, type and content in base64 of each part, as Python's library reads
    /// them.
    private static let parser = """
        import base64, email, email.policy, json, sys
        sent = open(sys.argv[1], "rb").read()
        message = email.message_from_bytes(sent, policy=email.policy.HTTP)
        assert not message.defects, message.defects
        print(json.dumps([[
            part.get_param("name", header="content-disposition"),
            part.get_filename(),
            part.get("content-type"),
            base64.b64encode(part.get_payload(decode=True)).decode()]
            for part in message.iter_parts()]))
        """

    @Test func aReceiverReadsWhatWasSubmitted() async throws {
        let directory = try DataDirectory()
        let folder = try TestFolder("multipart")
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let service = try await ServiceProcess(in: directory)
        let client = try service.client(key: directory.apiKey())
        try await client.makeSession("s")
        let bytes = Array("\r\n--form-\r\n\0\u{FF}".utf8)
        let parts = [
            BodyRequest.Part(name: "title", text: "gr\u{FC}n\n"),
            BodyRequest.Part(name: "a b", text: ""),
            BodyRequest.Part(
                name: "file",
                base64: Data(bytes).base64EncodedString(),
                filename: "a\"\r\nX-Injected: 1.png",
                contentType: "image/png"
            ),
        ]
        try await client.submit(
            [
                TaskRequest(
                    target: .url(origin.url("/form")),
                    kind: "upload",
                    method: "POST",
                    upload: UploadRequest(body: BodyRequest(multipart: parts))
                )
            ],
            toSession: "s"
        )
        await origin.log.arrived(1, at: "/form")
        let request = try #require(origin.log.now.requests(at: "/form").first)
        let head = "Content-Type: \(request["Content-Type"] ?? "")\r\n\r\n"
        let (file, script) = ("\(folder.path)/message", "\(folder.path)/parser.py")
        try Data(Array(head.utf8) + request.body).write(to: URL(filePath: file))
        try Data(Self.parser.utf8).write(to: URL(filePath: script))
        let read = try await CommandLine.run(TestTools.program("python"), [script, file])
        #expect(read.status == 0)
        let found = try JSONDecoder().decode([[String?]].self, from: Data(read.output.utf8))
        #expect(
            found == [
                ["title", nil, nil, Data("gr\u{FC}n\n".utf8).base64EncodedString()],
                ["a b", nil, nil, ""],
                [
                    "file", "a%22%0D%0AX-Injected: 1.png", "image/png",
                    Data(bytes).base64EncodedString(),
                ],
            ]
        )
        #expect(await service.terminate() == 0)
    }
}
