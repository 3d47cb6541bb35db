import Foundation
import TransferModel
import TransferWire

extension TaskRequest {
    /// What the task asks of its origin, with what is wrong in `errors`.
    func transferRequest(
        at pointer: String,
        into errors: inout [FieldError]
    ) -> TransferRequest {
        func refuse(_ field: String, _ detail: String, _ code: FieldError.Code = .invalidValue) {
            errors.append(FieldError(pointer: "\(pointer)/\(field)", code, detail))
        }
        if let method, !Self.isAllowed(method) {
            refuse("method", "Must be a method such as GET or POST, but not CONNECT or TRACE.")
        }
        switch kind ?? "download" {
        case "download":
            if upload != nil { refuse("upload", "Is for a task of kind `upload`.") }
            return TransferRequest(method: method)
        case "upload":
            if destination != nil { refuse("destination", "Is for a task of kind `download`.") }
            if expectedSize != nil { refuse("expected_size", "Is for a task of kind `download`.") }
            if checksums != nil { refuse("checksums", "Is for a task of kind `download`.") }
            guard let upload else {
                refuse("upload", "Says where the bytes come from.", .required)
                return TransferRequest()
            }
            let source = upload.source { refuse("upload\($0)", $1) }
            return TransferRequest(method: method, upload: source)
        default:
            refuse("kind", "Must be `download` or `upload`.")
            return TransferRequest()
        }
    }

    /// RFC 9110 §9.1; CONNECT and TRACE are not for resources.
    private static func isAllowed(_ method: String) -> Bool {
        (1...TransferRequest.methodBytesMax).contains(method.utf8.count)
            && method.utf8.allSatisfy(HTTPHeader.isTokenByte)
            && !["CONNECT", "TRACE"].contains(method.uppercased())
    }
}

extension UploadRequest {
    /// The one source that is named; what is wrong is told to `refuse` with its place.
    fileprivate func source(
        _ refuse: (_ place: String, _ detail: String) -> Void
    ) -> TransferRequest.UploadSource? {
        switch (path, data, staged ?? false) {
        case (let path?, nil, false):
            guard Destination(path: path, overwrite: false) != nil else {
                refuse("/path", "Must be a relative path beneath the container, of plain names.")
                return nil
            }
            return .file(path: path)
        case (nil, let data?, false):
            guard let bytes = Data(base64Encoded: data),
                bytes.count <= TransferRequest.UploadSource.dataBytesMax
            else {
                refuse(
                    "/data",
                    "Must be base64 of at most \(TransferRequest.UploadSource.dataBytesMax) bytes."
                )
                return nil
            }
            return .data(Array(bytes))
        case (nil, nil, true): return .staged
        default:
            refuse("", "Must have exactly one of `path`, `data` and `staged`.")
            return nil
        }
    }
}
