/** The microphone of the browser, or a file, as samples of 16 bits at 16 kHz. */
const RATE = 16_000;
/** Length of a piece of a file and interval between pieces: the pace of speech. */
const PIECE_MS = 100;

export interface Source {
  /** Nothing more comes; the sign of the browser that it listens goes out. */
  stop(): void;
}

export interface Taker {
  frame(bytes: Uint8Array): void;
  /** 0 to 1. */
  level(level: number): void;
}

/** Rejects as the browser does: NotAllowedError, NotFoundError. */
export async function microphone(taker: Taker, given: AbortSignal): Promise<Source> {
  const tracks = await navigator.mediaDevices.getUserMedia({
    audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true },
  });
  const close = () => {
    for (const track of tracks.getTracks()) track.stop();
  };
  if (given.aborted) {
    close();
    throw given.reason;
  }
  const context = new AudioContext({ sampleRate: RATE });
  try {
    await context.audioWorklet.addModule(new URL('./worklet.ts', import.meta.url).href);
    const node = new AudioWorkletNode(context, 'microphone', { numberOfOutputs: 0 });
    node.port.onmessage = ({ data }) => {
      taker.frame(new Uint8Array(data.frame));
      taker.level(Math.min(1, data.level * 6));
    };
    context.createMediaStreamSource(tracks).connect(node);
    return {
      stop: () => {
        node.port.onmessage = null;
        close();
        void context.close();
      },
    };
  } catch (error) {
    close();
    void context.close();
    throw error;
  }
}

/**
 * A recording of whatever kind the browser knows, as fast as it was said; `over` when its last sample was given.
 * Rejects with EncodingError.
 */
export async function recording(file: Blob, taker: Taker, over: () => void): Promise<Source> {
  const context = new OfflineAudioContext(1, 1, RATE);
  const sound = await context.decodeAudioData(await file.arrayBuffer());
  const samples = sound.getChannelData(0);
  const size = (RATE * PIECE_MS) / 1000;
  let at = 0;
  const timer = setInterval(() => {
    const piece = samples.subarray(at, at + size);
    at += size;
    taker.frame(bytesOf(piece));
    taker.level(Math.min(1, 6 * Math.sqrt(piece.reduce((sum, one) => sum + one * one, 0) / Math.max(1, piece.length))));
    if (at < samples.length) return;
    clearInterval(timer);
    over();
  }, PIECE_MS);
  return { stop: () => clearInterval(timer) };
}

function bytesOf(samples: Float32Array): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(samples.length * 2));
  samples.forEach((sample, index) => {
    bytes.setInt16(index * 2, Math.max(-32_768, Math.min(32_767, Math.round(sample * 32_767))), true);
  });
  return new Uint8Array(bytes.buffer);
}
