import Curl
import TransferModel

extension UploadStateMachine {
    /// Returns where the step goes.
    var target: CurlURL {
        switch step {
        case .whole, .creation: origin
        case .offset, .rest: resourceURL ?? origin
        }
    }

    /// Whether the step goes where the task's secrets may be shown.
    var isAtOrigin: Bool {
        switch step {
        case .whole, .creation: true
        case .offset, .rest: resource?.isAtOrigin ?? false
        }
    }

    /// Returns the request of the step, for a task that makes `request`.
    func request(of request: TransferRequest) -> TransferRequest {
        let method =
            switch (step, dialect) {
            case (.whole, _): request.method
            case (.creation, .tus): "POST"
            case (.creation, _): request.method
            case (_, .contentRange): "PUT"
            case (.offset, _): "HEAD"
            case (.rest, _): "PATCH"
            }
        return TransferRequest(
            kind: .upload,
            method: method,
            upload: sendsBody ? request.upload : nil
        )
    }

    /// Returns the header fields of the step, for a task that has `fields`.
    func headers(of fields: [HTTPHeader]) -> [HTTPHeader] {
        var added = protocolFields
        if dialect == .contentRange, step == .creation,
            let type = fields.first(where: { $0.name.lowercased() == "content-type" })
        {
            added.append(("X-Upload-Content-Type", type.value))
        }
        let names = Set(added.map { $0.name.lowercased() })
        let own = fields.filter { field in
            !names.contains(field.name.lowercased()) && (step == .whole || !field.describesContent)
        }
        return own + added.map { HTTPHeader(name: $0.name, value: $0.value) }
    }

    private var protocolFields: [(name: String, value: String)] {
        switch (dialect, step) {
        case (.off, _): []
        case (.ietf, .whole):
            [
                ("Upload-Draft-Interop-Version", Self.draftVersion), ("Upload-Complete", "?1"),
                ("Upload-Length", "\(length)"),
            ]
        case (.ietf, .creation), (.ietf, .offset):
            [("Upload-Draft-Interop-Version", Self.draftVersion)]
        case (.ietf, .rest(let start)):
            [
                ("Upload-Draft-Interop-Version", Self.draftVersion), ("Upload-Complete", "?1"),
                ("Upload-Offset", "\(start)"), ("Content-Type", "application/partial-upload"),
            ]
        case (.tus, .whole), (.tus, .creation):
            [("Tus-Resumable", "1.0.0"), ("Upload-Length", "\(length)")]
        case (.tus, .offset): [("Tus-Resumable", "1.0.0")]
        case (.tus, .rest(let start)):
            [
                ("Tus-Resumable", "1.0.0"), ("Upload-Offset", "\(start)"),
                ("Content-Type", "application/offset+octet-stream"),
            ]
        case (.contentRange, .whole), (.contentRange, .creation):
            [("X-Upload-Content-Length", "\(length)")]
        case (.contentRange, .offset): [("Content-Range", "bytes */\(length)")]
        case (.contentRange, .rest(let start)):
            [
                (
                    "Content-Range",
                    start < length ? "bytes \(start)-\(length - 1)/\(length)" : "bytes */\(length)"
                )
            ]
        }
    }
}
