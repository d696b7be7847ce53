/** A certificate authority for one run, and a certificate of it for this machine. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Certificates {
  /** Of the authority: what clients have to trust. */
  ca: string;
  cert: string;
  key: string;
}

export function makeCertificates(folder: string): Certificates {
  const [ca, caKey, cert, key, request, extensions] = ['ca.pem', 'ca.key', 'cert.pem', 'key.pem', 'leaf.csr', 'leaf.ext']
    .map((name) => join(folder, name));
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl('req', '-x509', ...newKey, '-keyout', caKey, '-out', ca, '-days', '1', '-subj', '/CN=Spillway tests',
    '-addext', 'basicConstraints=critical,CA:TRUE,pathlen:0', '-addext', 'keyUsage=critical,keyCertSign');
  openssl('req', ...newKey, '-keyout', key, '-out', request, '-subj', '/CN=localhost');
  writeFileSync(extensions, 'subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n');
  openssl('x509', '-req', '-in', request, '-CA', ca, '-CAkey', caKey, '-days', '1', '-extfile', extensions,
    '-out', cert);
  return { ca, cert, key };
}
