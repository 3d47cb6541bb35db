import TransferHTTP

/// The files with which the API speaks TLS.
struct TLSFiles: Sendable {
    let certificate: String
    let key: String

    /// Reads the names of the files; nil without TLS.
    init?(_ options: ServiceOptions, _ reader: inout SettingsReader) {
        let certificate = reader.text(
            options.tlsCertificateFile,
            "TRANSFERD_TLS_CERTIFICATE_FILE"
        )
        let key = reader.text(options.tlsKeyFile, "TRANSFERD_TLS_KEY_FILE")
        guard let certificate, let key else {
            if certificate != nil || key != nil {
                reader.refuse(
                    """
                    TRANSFERD_TLS_CERTIFICATE_FILE: a certificate takes its key \
                    (TRANSFERD_TLS_KEY_FILE), and a key its certificate
                    """
                )
            }
            return nil
        }
        self.certificate = certificate
        self.key = key
    }

    /// Reads the files; whoever can read the key is checked again each time that they are read.
    ///
    /// - Throws: an error that names the file, also if others can read the key.
    func load() throws -> ServerCertificate {
        let keyFile = SecretFile(path: key)
        do {
            return try ServerCertificate(
                certificateFile: certificate,
                keyFile: key,
                checkKey: { try keyFile.checkAccess() }
            )
        } catch let error as SecretFileError {
            throw error
        } catch let error as UnreadableFile {
            throw error
        } catch {
            throw SecretFileError(
                path: certificate,
                reason: "is no certificate in PEM for the key in \(key): \(error)"
            )
        }
    }
}
