/** Calls to a DRM card: the seam at which a test puts its card. Ids are those of the kernel. */

/** struct drm_mode_modeinfo as the kernel gave it: it is given back whole. */
export interface Mode {
  readonly width: number;
  readonly height: number;
  /** Hz */
  readonly refresh: number;
  readonly preferred: boolean;
  readonly bytes: Uint8Array;
}

export interface Connector {
  readonly id: number;
  readonly connected: boolean;
  /** Encoder in use, 0 if none. */
  readonly encoder: number;
  readonly encoders: readonly number[];
  readonly modes: readonly Mode[];
}

export interface Encoder {
  readonly crtc: number;
  /** A bit for each crtc, in the order of the resources. */
  readonly possibleCrtcs: number;
}

export interface Resources {
  readonly crtcs: readonly number[];
  readonly connectors: readonly number[];
}

/** struct drm_mode_crtc: what a crtc shows, to be given back as it was. */
export interface CrtcState {
  readonly bytes: Uint8Array;
  /** It shows something. */
  readonly active: boolean;
}

/** Memory of the card that it can show. */
export interface DumbBuffer {
  readonly framebuffer: number;
  /** Bytes from one row to the next. */
  readonly pitch: number;
  /** Not to be touched after `release`. */
  readonly memory: Uint8Array;
  release(): Promise<void>;
}

export interface Flip {
  /** Monotonic milliseconds at which the frame was seen. */
  readonly at: number;
  /** Token given to `flip`. */
  readonly token: number;
}

/** Each method rejects with an Error whose message is the name of the errno: `EBUSY`. All work off the calling thread. */
export interface DrmCard extends AsyncDisposable {
  setMaster(): Promise<void>;
  dropMaster(): Promise<void>;
  resources(): Promise<Resources>;
  /** `probe`: the display is asked, which takes up to some hundred milliseconds; else what the kernel knows. */
  connector(id: number, probe: boolean): Promise<Connector>;
  encoder(id: number): Promise<Encoder>;
  crtc(id: number): Promise<CrtcState>;
  /** As it was. */
  restore(state: CrtcState, connector: number): Promise<void>;
  /** Shows a buffer; without one the crtc is off. */
  show(
    crtc: number,
    picture?: { readonly framebuffer: number; readonly connector: number; readonly mode: Mode },
  ): Promise<void>;
  buffer(width: number, height: number, bits: 16 | 32): Promise<DumbBuffer>;
  /** At the next vertical blank; an event with the token tells it. */
  flip(crtc: number, framebuffer: number, token: number): Promise<void>;
  /** The events of flips that came; empty when none came within `ms` milliseconds. */
  flips(ms: number): Promise<readonly Flip[]>;
  /** Tells a card that copies which rows changed. */
  dirty(
    framebuffer: number,
    rects: readonly { readonly x: number; readonly y: number; readonly w: number; readonly h: number }[],
  ): Promise<void>;
}
