import http from 'node:http';

const agent = new http.Agent({ keepAlive: true });

/**
 * One GET.
 *
 * @returns {Promise<{status: number, retryAfterMs: number, body: string}>} once the body has ended; a status of 0
 *   where there was no answer, or it broke off
 */
export async function get(url, headers = {}) {
  for (;;) {
    try {
      return await attempt(url, headers);
    } catch (error) {
      // The other side may close a kept connection at any time; nothing was answered on it.
      if (!error.staleConnection) return { status: 0, retryAfterMs: 0, body: '' };
    }
  }
}

function attempt(url, headers) {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { agent, headers }, async (response) => {
      try {
        let body = '';
        for await (const part of response.setEncoding('utf8')) body += part;
        const retryAfterMs = Number(response.headers['retry-after'] ?? 0) * 1_000;
        resolve({ status: response.statusCode, retryAfterMs, body });
      } catch (error) {
        reject(error);
      }
    });
    request.on('error', (error) => {
      error.staleConnection = request.reusedSocket && error.code === 'ECONNRESET';
      reject(error);
    });
  });
}
